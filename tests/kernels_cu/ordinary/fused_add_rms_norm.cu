// residual += x; x = rms_norm(residual) * weight, in place, in half precision, 16 bytes at a time.
// One block per token. hidden_size must be a multiple of 8.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

struct alignas(16) Half8 {
    __half2 pair[4];

    __device__ Half8& operator+=(const Half8& other) {
#pragma unroll
        for (int i = 0; i < 4; i++) pair[i] = __hadd2(pair[i], other.pair[i]);
        return *this;
    }

    __device__ float sum_of_squares() const {
        float result = 0.0f;
        for (const __half2& p : pair) {
            const float2 f = __half22float2(p);
            result += f.x * f.x + f.y * f.y;
        }
        return result;
    }

    __device__ Half8 scaled(float factor, const Half8& weight) const {
        Half8 result;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 f = __half22float2(pair[i]);
            f.x *= factor;
            f.y *= factor;
            result.pair[i] = __hmul2(__float22half2_rn(f), weight.pair[i]);
        }
        return result;
    }
};
static_assert(sizeof(Half8) == sizeof(uint4), "one 16-byte access");

__global__ void fused_add_rms_norm(__half* x, __half* residual, const __half* weight,
                                   float epsilon, int hidden_size) {
    const auto block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    __shared__ float warp_sums[32];
    __shared__ float factor;

    const int num_vectors = hidden_size / 8;
    Half8* xs = reinterpret_cast<Half8*>(x) + size_t(blockIdx.x) * num_vectors;
    Half8* residuals = reinterpret_cast<Half8*>(residual) + size_t(blockIdx.x) * num_vectors;
    const Half8* weights = reinterpret_cast<const Half8*>(weight);

    float squares = 0.0f;
    for (int i = block.thread_rank(); i < num_vectors; i += block.size()) {
        Half8 v = xs[i];
        v += residuals[i];
        squares += v.sum_of_squares();
        residuals[i] = v;
    }
    squares = cg::reduce(warp, squares, cg::plus<float>());
    if (warp.thread_rank() == 0) warp_sums[warp.meta_group_rank()] = squares;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        const bool exists = warp.thread_rank() < warp.meta_group_size();
        const float total =
            cg::reduce(warp, exists ? warp_sums[warp.thread_rank()] : 0.0f, cg::plus<float>());
        if (warp.thread_rank() == 0) factor = rsqrtf(total / hidden_size + epsilon);
    }
    cg::sync(block);
    for (int i = threadIdx.x; i < num_vectors; i += blockDim.x) {
        xs[i] = residuals[i].scaled(factor, weights[i]);
    }
}
