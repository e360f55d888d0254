// write_kv, simple: the oracle of the other variants.
//
// grid    one block of threads per token
// thread  elements i, i + blockDim.x, ... of the token's num_kv_heads * head_dim
// rounding  x / scale in float32, then once to the pool's type; none where the types are equal
//           and there are no scales
// paged: op         write_kv
// paged: summary    one thread per element, any type, stride and head_dim
// paged: launch     write_kv_simple grid(num_tokens) block(128)
// paged: registers  64

#include "stored.cuh"

__global__ void write_kv_simple(const __grid_constant__ WriteKvParams p) {
  const long long token = blockIdx.x;
  const long long index = p.slot_mapping[token];
  if (index < 0 || index >= static_cast<long long>(p.num_blocks) * p.block_size) return;
  const paged::Slot slot = paged::slot_at(index, p.block_size);
  for (int i = threadIdx.x; i < p.num_kv_heads * p.head_dim; i += blockDim.x) {
    const int head = i / p.head_dim;
    const int d = i % p.head_dim;
    const auto write = [&](const KEY_T* row, paged::KvHalf half) {
      const paged::Scale scale = paged::scale_of(p.kv_scales, p.layer, half, head, p.num_kv_heads);
      const long long to = paged::row_offset(p.kv_pool_stride, slot, p.layer, half, head);
      p.kv_pool[to + d] = paged::quantize<KV_T>(row[d], scale);
    };
    write(p.key + token * p.key_stride[0] + head * p.key_stride[1], paged::kKeys);
    write(p.value + token * p.value_stride[0] + head * p.value_stride[1], paged::kValues);
  }
}
