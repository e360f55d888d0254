// swap_blocks, simple: the oracle of the other variants.
//
// grid    one block of threads per (pair, layer), the layer fastest
// thread  elements i, i + blockDim.x, ... of the layer's keys and values
// pairs   [block of source, block of destination]; the latter differ
// paged: op         swap_blocks
// paged: summary    one thread per element, any strides of either pool
// paged: launch     swap_blocks_simple grid(num_pairs * num_layers) block(128)
// paged: registers  64

#include "block_copy.cuh"

__global__ void swap_blocks_simple(const __grid_constant__ SwapBlocksParams p) {
  const paged::BlockShape shape = {p.num_layers, p.num_kv_heads, p.block_size, p.head_dim};
  const long long* pair = p.pairs + 2ll * (blockIdx.x / p.num_layers);
  const auto from = paged::block_at(p.source, p.source_stride, pair[0], p.num_source_blocks);
  const auto to =
      paged::block_at(p.destination, p.destination_stride, pair[1], p.num_destination_blocks);
  if (from.start == nullptr || to.start == nullptr) return;
  paged::copy_block_layer(to, from, shape, blockIdx.x % p.num_layers);
}
