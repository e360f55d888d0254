// attention, v1: 16-byte loads and an online softmax without logits in memory.
//
// grid    one block of 4 warps per (query token, query head)
// block   the warps are dealt the keys of the sequence and merge their sums at the end
// shared  (HEAD_DIM + 1 + 4 * (HEAD_DIM + 2)) * 4 bytes
// layout  any strides, block size and head_dim; 16-byte loads where rows are aligned to them
// order   sums depend on a key's position alone: batch-invariant, bit for bit
// paged: op         attention
// paged: summary    vectors of 16 bytes, online softmax, one block per query token and head
// paged: constant   head_dim
// paged: launch     attention_v1 grid(num_tokens, num_q_heads) block(128)
// paged: registers  128
// paged: claim      sm_80 LDG.E.128
// paged: claim      sm_90 LDG.E.128

#include "attend.cuh"

__global__ void __launch_bounds__(paged::kBlockThreads, 4)
    attention_v1(const __grid_constant__ AttentionParams p) {
  const int token = blockIdx.x, head = blockIdx.y;
  const paged::VisibleKeys seen = paged::find_visible_keys(p, token);
  const paged::Heads heads{head, 1, head / p.group_size};
  paged::attend<1>(p, seen, token, heads, seen.begin, seen.end,
                   [&](int q_head, int d, float value, const paged::RowSums& row) {
                     paged::write_element(p, seen, token, q_head, heads.kv_head, d, value, row);
                   });
}
