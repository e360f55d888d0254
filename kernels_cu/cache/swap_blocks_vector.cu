// swap_blocks, vector: one launch that reads or writes pinned host memory through its mapped
// address, 64 bytes in flight per thread. Beats the copy engine where blocks are small or lie
// in pieces.
//
// grid    blocks of threads over (pair, part), the part fastest; a part is about 4096 elements
// thread  16-byte vectors of the part, 4 at a time
// align   a block contiguous in both pools is one run of vectors; else rows
// pairs   [block of source, block of destination]; the latter differ
// paged: op         swap_blocks
// paged: summary    16-byte vectors over whole blocks, mapped host memory
// paged: symbol     block_elements = num_layers * 2 * num_kv_heads * block_size * head_dim
// paged: symbol     num_parts = max(1, cdiv(block_elements, 4096))
// paged: launch     swap_blocks_vector grid(num_pairs * num_parts) block(128)
// paged: registers  64
// paged: claim      sm_80 LDG.E.128
// paged: claim      sm_80 STG.E.128

#include "block_copy.cuh"

__global__ void swap_blocks_vector(const __grid_constant__ SwapBlocksParams p) {
  const paged::BlockShape shape = {p.num_layers, p.num_kv_heads, p.block_size, p.head_dim};
  const long long* pair = p.pairs + 2ll * (blockIdx.x / p.num_parts);
  const auto from = paged::block_at(p.source, p.source_stride, pair[0], p.num_source_blocks);
  const auto to =
      paged::block_at(p.destination, p.destination_stride, pair[1], p.num_destination_blocks);
  if (from.start == nullptr || to.start == nullptr) return;
  paged::copy_block_part(to, from, shape, blockIdx.x % p.num_parts, p.num_parts);
}
