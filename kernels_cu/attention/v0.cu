// attention, v0: the obvious kernel, oracle of the others.
//
// grid    one warp per (query token, query head)
// tile    32 keys from a multiple of 32: lane i scores key i of it, then every lane adds up the
//         dimensions i, i + 32, ... of all its values
// shared  (HEAD_DIM + 32) * 4 bytes
// layout  any strides, any block size, any head_dim, any alignment: single elements are loaded
// order   sums depend on a key's position alone: batch-invariant, bit for bit
// paged: op         attention
// paged: summary    one warp per query token and head, any type, stride and head_dim
// paged: constant   head_dim
// paged: launch     attention_v0 grid(num_tokens, num_q_heads) block(32)
// paged: registers  128

#include "kv_pool.cuh"
#include "kv_scale.cuh"
#include "softmax.cuh"
#include "visible_keys.cuh"

constexpr int kTileKeys = paged::kWarpSize;
constexpr int kLaneDims = (HEAD_DIM + paged::kWarpSize - 1) / paged::kWarpSize;

// Keys or values of one sequence and head.
struct Rows {
  const KV_T* pool;
  const int* table;
  const long long* stride;
  int block_size, layer, head;

  __device__ const KV_T* at(paged::KvHalf half, int key) const {
    const paged::Slot slot{table[key / block_size], key % block_size};
    return pool + paged::row_offset(stride, slot, layer, half, head);
  }
};

__device__ float dot(const float* query, const KV_T* key) {
  float sum = 0.0f;
#pragma unroll 8  // all of it at once would spill on sm_89
  for (int d = 0; d < HEAD_DIM; ++d) sum += query[d] * static_cast<float>(key[d]);
  return sum;
}

__global__ void __launch_bounds__(32)
    attention_v0(const __grid_constant__ AttentionParams p) {
  __shared__ float query[HEAD_DIM];
  __shared__ float weights[kTileKeys];
  const int token = blockIdx.x, head = blockIdx.y, lane = threadIdx.x;
  const int kv_head = head / p.group_size;
  const paged::VisibleKeys seen = paged::find_visible_keys(p, token);
  const Rows rows{p.kv_pool, p.block_tables + static_cast<long long>(seen.sequence) * p.max_blocks,
                  p.kv_pool_stride, p.block_size, p.layer, kv_head};
  const float slope = p.alibi_slopes == nullptr ? 0.0f : p.alibi_slopes[head];
  const float scale = p.scale * paged::kv_scale_of(p, paged::kKeys, kv_head);
  const Q_T* own = p.query + token * p.query_stride[0] + head * p.query_stride[1];
  for (int d = lane; d < HEAD_DIM; d += paged::kWarpSize) {
    query[d] = scale * static_cast<float>(own[d]);
  }
  __syncwarp();

  paged::RowSums row;
  float values[kLaneDims] = {};
  for (int tile = seen.begin / kTileKeys * kTileKeys; tile < seen.end; tile += kTileKeys) {
    const int key = tile + lane;
    float logit = paged::kMinusInfinity;
    if (seen.begin <= key && key < seen.end) {
      const float score = dot(query, rows.at(paged::kKeys, key));
      logit = paged::logit_of(score, p.softcap, slope, key - seen.position);
    }
    const float factor = row.raise(paged::warp_max(logit));
    weights[lane] = paged::weight_of(logit, row.maximum);
    row.sum += paged::warp_sum(weights[lane]);
    __syncwarp();
    for (int i = 0; i < kLaneDims; ++i) values[i] *= factor;
    for (int k = max(seen.begin, tile); k < min(seen.end, tile + kTileKeys); ++k) {
      const KV_T* value = rows.at(paged::kValues, k);
      for (int i = 0; i < kLaneDims; ++i) {
        const int d = lane + i * paged::kWarpSize;
        if (d < HEAD_DIM) values[i] += weights[k - tile] * static_cast<float>(value[d]);
      }
    }
    __syncwarp();
  }

  float factor = paged::kv_scale_of(p, paged::kValues, kv_head);
  if (p.sinks != nullptr && !seen.is_padding) factor *= row.add_sink(p.sinks[head]);
  const long long output = static_cast<long long>(token) * p.num_q_heads + head;
  for (int i = 0; i < kLaneDims; ++i) {
    const int d = lane + i * paged::kWarpSize;
    if (d >= HEAD_DIM) continue;
    p.out[output * HEAD_DIM + d] = static_cast<Q_T>(values[i] * (factor * row.normalizer()));
  }
  if (lane == 0) p.lse[output] = row.log_sum();
}
