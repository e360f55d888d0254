// copy_blocks, simple: the oracle of the other variants.
//
// grid    one block of threads per (pair, layer), the layer fastest
// thread  elements i, i + blockDim.x, ... of the layer's keys and values
// pairs   [source, destination]; destinations differ, and none is a source
// paged: op         copy_blocks
// paged: summary    one thread per element, any strides
// paged: launch     copy_blocks_simple grid(num_pairs * num_layers) block(128)
// paged: registers  64

#include "block_copy.cuh"

__global__ void copy_blocks_simple(const __grid_constant__ CopyBlocksParams p) {
  const paged::BlockShape shape = {p.num_layers, p.num_kv_heads, p.block_size, p.head_dim};
  const long long* pair = p.pairs + 2ll * (blockIdx.x / p.num_layers);
  const KV_T* pool = p.kv_pool;
  const auto from = paged::block_at(pool, p.kv_pool_stride, pair[0], p.num_blocks);
  const auto to = paged::block_at(p.kv_pool, p.kv_pool_stride, pair[1], p.num_blocks);
  if (from.start == nullptr || to.start == nullptr) return;
  paged::copy_block_layer(to, from, shape, blockIdx.x % p.num_layers);
}
