// rope_write_kv, simple: the oracle of the other variants.
//
// grid    one block of threads per token
// thread  elements i, i + blockDim.x, ... of the token's query heads, then of its KV heads
// rounding  the rotation and the division by a scale are float32; one rounding at the end
// padding a token whose position is outside of the table gets a query of zeros and is not
//         written; one whose slot is outside of the pool is not written
// paged: op         rope_write_kv
// paged: summary    one thread per element, any type, stride, head_dim and rotary_dim
// paged: launch     rope_write_kv_simple grid(num_tokens) block(128)
// paged: registers  64

#include "rotary.cuh"
#include "stored.cuh"

__global__ void rope_write_kv_simple(const __grid_constant__ RopeWriteKvParams p) {
  const long long token = blockIdx.x;
  const auto turn = paged::rotation_at(p.cos_sin, p.positions[token], p.max_positions,
                                       p.rotary_dim, p.interleaved);
  const KEY_T* queries = p.query + token * p.query_stride[0];
  KEY_T* out = p.out + token * p.num_q_heads * p.head_dim;
  for (int i = threadIdx.x; i < p.num_q_heads * p.head_dim; i += blockDim.x) {
    const KEY_T* row = queries + i / p.head_dim * p.query_stride[1];
    const float x =
        turn.cos == nullptr ? 0.0f : paged::rotated_element(row, i % p.head_dim, turn);
    out[i] = paged::convert<KEY_T>(x);
  }
  const long long index = p.slot_mapping[token];
  const bool is_stored =
      index >= 0 && index < static_cast<long long>(p.num_blocks) * p.block_size;
  if (turn.cos == nullptr || !is_stored) return;
  const paged::Slot slot = paged::slot_at(index, p.block_size);
  for (int i = threadIdx.x; i < p.num_kv_heads * p.head_dim; i += blockDim.x) {
    const int head = i / p.head_dim;
    const int d = i % p.head_dim;
    const auto write = [&](auto x, paged::KvHalf half) {
      const paged::Scale scale = paged::scale_of(p.kv_scales, p.layer, half, head, p.num_kv_heads);
      const long long to = paged::row_offset(p.kv_pool_stride, slot, p.layer, half, head);
      p.kv_pool[to + d] = paged::quantize<KV_T>(x, scale);
    };
    const KEY_T* key = p.key + token * p.key_stride[0] + head * p.key_stride[1];
    const KEY_T* value = p.value + token * p.value_stride[0] + head * p.value_stride[1];
    write(paged::rotated_element(key, d, turn), paged::kKeys);
    write(value[d], paged::kValues);
  }
}
