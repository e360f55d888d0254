// Sum of an array in one launch: each block leaves a partial sum, the last block to finish adds
// them. The counter wraps to zero by itself, so the kernel can be launched again at once.
#include <cuda_runtime.h>

constexpr int kBlockSize = 128;

__device__ unsigned int num_blocks_done = 0;

static __device__ float block_sum(float value, float* scratch) {
    const int tid = threadIdx.x;
    scratch[tid] = value;
    __syncthreads();
    for (int stride = kBlockSize / 2; stride >= 32; stride >>= 1) {
        if (tid < stride) scratch[tid] += scratch[tid + stride];
        __syncthreads();
    }
    value = scratch[tid % 32];
    if (tid < 32) {
        for (int delta = 16; delta > 0; delta /= 2) value += __shfl_down_sync(~0u, value, delta);
    }
    return value;  // of thread 0
}

extern "C" __global__ void __launch_bounds__(kBlockSize)
    grid_sum(const float* in, volatile float* partial, float* out, long long num_elements) {
    __shared__ float scratch[kBlockSize];
    __shared__ bool is_last_block;

    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    float value = 0.f;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < num_elements;
         i += stride) {
        value += in[i];
    }
    value = block_sum(value, scratch);

    if (threadIdx.x == 0) {
        partial[blockIdx.x] = value;
        __threadfence();
        const unsigned ticket = atomicInc(&num_blocks_done, gridDim.x - 1);
        is_last_block = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last_block) return;

    value = 0.f;
    for (int i = threadIdx.x; i < gridDim.x; i += kBlockSize) value += partial[i];
    value = block_sum(value, scratch);
    if (threadIdx.x == 0) *out = value;
}
