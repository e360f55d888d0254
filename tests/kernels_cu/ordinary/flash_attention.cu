// Exact attention forward for bfloat16 with float accumulation: K and V stream through shared
// memory in tiles, softmax is kept online, the score matrix never reaches global memory.
// Grid (query tiles, heads, batch); one thread per query row of the tile. Tensors [B, H, S, D].
// Dynamic shared memory: (2 * kKeys * D) * sizeof(bf16) + kQueries * (kKeys + 1) * sizeof(float).
#include <cfloat>
#include <cuda_bf16.h>

constexpr int kQueries = 32;
constexpr int kKeys = 32;

template <int D>
__device__ __forceinline__ void load_tile(__nv_bfloat16* tile, const __nv_bfloat16* rows,
                                          int count) {
    static_assert(D % 8 == 0, "16-byte loads");
    constexpr int kVectors = D / 8;
    for (int i = threadIdx.x; i < kKeys * kVectors; i += kQueries) {
        const int row = i / kVectors;
        uint4 vector = make_uint4(0, 0, 0, 0);
        if (row < count) vector = __ldg(reinterpret_cast<const uint4*>(rows) + i);
        reinterpret_cast<uint4*>(tile)[i] = vector;
    }
}

template <int D>
__device__ __forceinline__ float dot(const float (&q)[D], const __nv_bfloat16* k) {
    float sum = 0.f;
    const __nv_bfloat162* pairs = reinterpret_cast<const __nv_bfloat162*>(k);
#pragma unroll
    for (int d = 0; d < D / 2; ++d) {
        const float2 pair = __bfloat1622float2(pairs[d]);
        sum = __fmaf_rn(q[2 * d], pair.x, sum);
        sum = __fmaf_rn(q[2 * d + 1], pair.y, sum);
    }
    return sum;
}

template <int D, bool IS_CAUSAL>
__global__ void __launch_bounds__(kQueries)
    flash_attention(const __nv_bfloat16* __restrict__ Q, const __nv_bfloat16* __restrict__ K,
                    const __nv_bfloat16* __restrict__ V, __nv_bfloat16* __restrict__ O,
                    float* __restrict__ lse, int num_queries, int num_keys, float scale) {
    extern __shared__ uint4 smem[];
    __nv_bfloat16* const k_tile = reinterpret_cast<__nv_bfloat16*>(smem);
    __nv_bfloat16* const v_tile = k_tile + kKeys * D;
    float* const scores =
        reinterpret_cast<float*>(v_tile + kKeys * D) + threadIdx.x * (kKeys + 1);

    const size_t head = size_t(blockIdx.z) * gridDim.y + blockIdx.y;
    Q += head * num_queries * D;
    O += head * num_queries * D;
    K += head * num_keys * D;
    V += head * num_keys * D;
    const int row = blockIdx.x * kQueries + threadIdx.x;
    const bool is_live = row < num_queries;
    // The last query sees the last key.
    const int num_visible = IS_CAUSAL ? row + 1 + num_keys - num_queries : num_keys;
    const int last_row = min(blockIdx.x * kQueries + kQueries, num_queries) - 1;
    const int tile_end = IS_CAUSAL ? last_row + 1 + num_keys - num_queries : num_keys;

    float q[D], acc[D];
#pragma unroll
    for (int d = 0; d < D; ++d) {
        q[d] = is_live ? __bfloat162float(Q[size_t(row) * D + d]) * scale : 0.f;
        acc[d] = 0.f;
    }
    float largest = -FLT_MAX, sum = 0.f;

    for (int first = 0; first < tile_end; first += kKeys) {
        __syncthreads();
        load_tile<D>(k_tile, K + size_t(first) * D, num_keys - first);
        load_tile<D>(v_tile, V + size_t(first) * D, num_keys - first);
        __syncthreads();

        const int count = min(kKeys, num_visible - first);
        float tile_largest = largest;
        for (int j = 0; j < count; ++j) {
            scores[j] = dot<D>(q, k_tile + j * D);
            tile_largest = fmaxf(tile_largest, scores[j]);
        }
        const float correction = __expf(largest - tile_largest);
        largest = tile_largest;
        sum *= correction;
        for (int d = 0; d < D; ++d) acc[d] *= correction;
        for (int j = 0; j < count; ++j) {
            const float p = __expf(scores[j] - largest);
            sum += p;
            for (int d = 0; d < D; ++d) acc[d] += p * __bfloat162float(v_tile[j * D + d]);
        }
    }
    if (!is_live) return;
    const float inverse = sum > 0.f ? 1.f / sum : 0.f;
    for (int d = 0; d < D; ++d) O[size_t(row) * D + d] = __float2bfloat16(acc[d] * inverse);
    lse[head * num_queries + row] = largest + logf(sum);
}
