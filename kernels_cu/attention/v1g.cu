// attention, v1g: all query heads of a KV head in one block, so that keys are read once.
//
// grid    one block of 4 warps per (query token, KV head)
// block   as in v1, with the sums of up to 16 query heads in registers; larger groups take turns,
//         each of which reads the keys again
// shared  (heads * (HEAD_DIM + 1) + 4 * min(heads, 4) * (HEAD_DIM + 2)) * 4 bytes
// layout  any strides, block size and head_dim; 16-byte loads where rows are aligned to them,
//         8-byte ones for fp8 and more than 8 heads
// order   sums depend on a key's position alone: batch-invariant, bit for bit
// paged: op         attention
// paged: summary    one block per query token and KV head: keys and values read once
// paged: constant   head_dim group_size
// paged: launch     attention_v1g grid(num_tokens, num_kv_heads) block(128)
// paged: registers  255
// paged: claim      sm_80 LDG.E.128
// paged: claim      sm_90 LDG.E.128

#include "attend.cuh"
#include "head_tile.cuh"

__global__ void __launch_bounds__(paged::kBlockThreads, 2)
    attention_v1g(const __grid_constant__ AttentionParams p) {
  const int token = blockIdx.x, kv_head = blockIdx.y;
  const paged::VisibleKeys seen = paged::find_visible_keys(p, token);
  for (int turn = 0; turn < paged::kHeadTiles; ++turn) {
    const paged::Heads heads = paged::head_tile(kv_head, turn);
    paged::attend<paged::kTileHeads>(
        p, seen, token, heads, seen.begin, seen.end,
        [&](int q_head, int d, float value, const paged::RowSums& row) {
          paged::write_element(p, seen, token, q_head, kv_head, d, value, row);
        });
  }
}
