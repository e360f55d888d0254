// Row sums and row maxima: shuffles within a warp, shared memory across warps.
// One block per row; the block may be any multiple of 32 up to 1024 threads.
#include <cfloat>
#include <cuda_runtime.h>

namespace {

constexpr int kWarpSize = 32;
constexpr unsigned kFullMask = 0xffffffffu;

struct Sum {
    static constexpr float identity = 0.0f;
    __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

struct Max {
    static constexpr float identity = -FLT_MAX;
    __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <typename Op>
__device__ __forceinline__ float warp_reduce(float value, Op op) {
#pragma unroll
    for (int offset = kWarpSize / 2; offset > 0; offset >>= 1) {
        value = op(value, __shfl_xor_sync(kFullMask, value, offset));
    }
    return value;
}

// Every thread of the block gets the result.
template <typename Op>
__device__ float block_reduce(float value, Op op) {
    __shared__ float partial[kWarpSize];
    const int lane = threadIdx.x % kWarpSize;
    const int warp = threadIdx.x / kWarpSize;
    value = warp_reduce(value, op);
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    const int num_warps = blockDim.x / kWarpSize;
    value = warp_reduce(lane < num_warps ? partial[lane] : Op::identity, op);
    __syncthreads();
    return value;
}

template <typename Op>
__device__ void reduce_row(const float* __restrict__ in, float* __restrict__ out, int num_columns) {
    const float* row = in + static_cast<size_t>(blockIdx.x) * num_columns;
    Op op;
    float value = Op::identity;
    for (int column = threadIdx.x; column < num_columns; column += blockDim.x) {
        value = op(value, row[column]);
    }
    value = block_reduce(value, op);
    if (threadIdx.x == 0) out[blockIdx.x] = value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(1024)
    row_sum(const float* __restrict__ in, float* __restrict__ out, int num_columns) {
    reduce_row<Sum>(in, out, num_columns);
}

extern "C" __global__ void __launch_bounds__(1024)
    row_max(const float* __restrict__ in, float* __restrict__ out, int num_columns) {
    reduce_row<Max>(in, out, num_columns);
}
