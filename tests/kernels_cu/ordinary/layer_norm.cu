// LayerNorm, one warp-sized tile per row, statistics by cooperative_groups::reduce.
// Saves mean and reciprocal standard deviation for the backward pass.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void layer_norm(float* __restrict__ out, float* __restrict__ mean,
                                      float* __restrict__ rstd, const float* __restrict__ in,
                                      const float* __restrict__ weight,
                                      const float* __restrict__ bias, int num_rows,
                                      int num_columns, float epsilon) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= num_rows) return;
    const float* x = in + row * static_cast<long>(num_columns);

    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < num_columns; i += warp.size()) sum += x[i];
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    const float m = sum / num_columns;

    float sum_of_squares = 0.0f;
    for (int i = warp.thread_rank(); i < num_columns; i += warp.size()) {
        const float centred = x[i] - m;
        sum_of_squares += centred * centred;
    }
    sum_of_squares = cg::reduce(warp, sum_of_squares, cg::plus<float>{});
    const float r = rsqrtf(sum_of_squares / num_columns + epsilon);

    if (warp.thread_rank() == 0) {
        if (mean != nullptr) __stcs(mean + row, m);
        if (rstd != nullptr) __stcs(rstd + row, r);
    }
    float* y = out + row * static_cast<long>(num_columns);
    for (int c = warp.thread_rank(); c < num_columns; c += warp.size()) {
        const float normalised = r * (__ldcs(x + c) - m);
        __stcs(y + c, normalised * weight[c] + bias[c]);
    }
}
