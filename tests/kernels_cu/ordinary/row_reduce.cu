// Row sums, and row maxima and minima: shuffles within a warp, shared memory across warps.
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
__device__ float reduce_row(const float* __restrict__ in, int num_columns, float sign) {
    const float* row = in + static_cast<size_t>(blockIdx.x) * num_columns;
    Op op;
    float value = Op::identity;
    for (int column = threadIdx.x; column < num_columns; column += blockDim.x) {
        value = op(value, sign * row[column]);
    }
    return block_reduce(value, op);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(1024)
    row_sum(const float* __restrict__ in, float* __restrict__ out, int num_columns) {
    const float sum = reduce_row<Sum>(in, num_columns, 1.0f);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(1024)
    row_bounds(const float* __restrict__ in, float2* __restrict__ out, int num_columns) {
    const float largest = reduce_row<Max>(in, num_columns, 1.0f);
    const float smallest = -reduce_row<Max>(in, num_columns, -1.0f);
    if (threadIdx.x == 0) out[blockIdx.x] = make_float2(smallest, largest);
}
