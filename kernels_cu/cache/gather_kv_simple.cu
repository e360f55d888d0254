// gather_kv, simple: the oracle of the other variants.
//
// grid    one block of threads per gathered row
// thread  elements i, i + blockDim.x, ... of the row's num_kv_heads * head_dim
// rounding  stored * scale in float32, then once to the output's type; none where the types are
//           equal and there are no scales
// padding rows past the last sequence, and rows without a block, are zeros
// paged: op         gather_kv
// paged: summary    one thread per element, any type, stride and head_dim
// paged: launch     gather_kv_simple grid(num_tokens) block(128)
// paged: registers  64

#include "gather.cuh"
#include "stored.cuh"

__global__ void gather_kv_simple(const __grid_constant__ GatherKvParams p) {
  const long long row = blockIdx.x;
  const paged::Slot slot =
      paged::gathered_slot(p.kv_start, p.block_tables, p.num_seqs, p.max_blocks, p.num_blocks,
                           p.block_size, blockIdx.x);
  const int row_elements = p.num_kv_heads * p.head_dim;
  for (int i = threadIdx.x; i < row_elements; i += blockDim.x) {
    const int head = i / p.head_dim;
    const int d = i % p.head_dim;
    const auto read = [&](paged::KvHalf half) {
      if (slot.block < 0) return paged::convert<KEY_T>(0.0f);
      const paged::Scale scale = paged::scale_of(p.kv_scales, p.layer, half, head, p.num_kv_heads);
      const long long from = paged::row_offset(p.kv_pool_stride, slot, p.layer, half, head);
      return paged::dequantize<KEY_T>(p.kv_pool[from + d], scale);
    };
    p.key[row * row_elements + i] = read(paged::kKeys);
    p.value[row * row_elements + i] = read(paged::kValues);
  }
}
