// copy_blocks, vector: one launch for all layers and pairs, 64 bytes in flight per thread.
//
// grid    blocks of threads over (pair, part), the part fastest; a part is about 4096 elements
// thread  16-byte vectors of the part, 4 at a time
// align   a contiguous block is one run of vectors; else rows, by vectors where addresses allow
// pairs   [source, destination]; destinations differ, and none is a source
// paged: op         copy_blocks
// paged: summary    16-byte vectors over whole blocks, parts of 4096 elements
// paged: symbol     block_elements = num_layers * 2 * num_kv_heads * block_size * head_dim
// paged: symbol     num_parts = max(1, cdiv(block_elements, 4096))
// paged: launch     copy_blocks_vector grid(num_pairs * num_parts) block(128)
// paged: registers  64
// paged: claim      sm_80 LDG.E.128
// paged: claim      sm_80 STG.E.128

#include "block_copy.cuh"

__global__ void copy_blocks_vector(const __grid_constant__ CopyBlocksParams p) {
  const paged::BlockShape shape = {p.num_layers, p.num_kv_heads, p.block_size, p.head_dim};
  const long long* pair = p.pairs + 2ll * (blockIdx.x / p.num_parts);
  const KV_T* pool = p.kv_pool;
  const auto from = paged::block_at(pool, p.kv_pool_stride, pair[0], p.num_blocks);
  const auto to = paged::block_at(p.kv_pool, p.kv_pool_stride, pair[1], p.num_blocks);
  if (from.start == nullptr || to.start == nullptr) return;
  paged::copy_block_part(to, from, shape, blockIdx.x % p.num_parts, p.num_parts);
}
