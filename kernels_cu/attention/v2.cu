// attention, v2: keys split among blocks, so that few long sequences fill a GPU.
//
// A split is 512 keys from a multiple of 512, whatever the batch. Each leaves its sums in a
// workspace, and a second kernel adds the sums of a row's splits in their order:
//
//   keys      0 ......... 511 | 512 ...... 1023 | 1024 .. position |
//   block z   0                 1                 2                  3, 4, ... end at once
//
// grid    split: one block of 4 warps per (query token, KV head, split), a block taking every
//         split_blocks-th split; combine: one block per (query token, query head). Grids follow
//         from shapes alone: a captured graph serves any lengths
// block   split: as in v1g; combine: one thread per dimension
// shared  as in v1g
// layout  as in v1g; partial [token, head, split, head_dim], partial_rows [token, head, split, 2]
// order   sums depend on a key's position alone: batch-invariant, bit for bit
// paged: op         attention
// paged: summary    keys split among blocks, 512 each, and combined by a second kernel
// paged: constant   head_dim group_size
// paged: symbol     num_splits = cdiv(max_blocks * block_size, 512)
// paged: symbol     num_rows = max(1, num_tokens * num_kv_heads)
// paged: symbol     split_blocks = min(num_splits, max(16, cdiv(2048, num_rows)))
// paged: workspace  partial float32 num_tokens num_q_heads num_splits head_dim
// paged: workspace  partial_rows float32 num_tokens num_q_heads num_splits 2
// paged: launch     attention_v2_split grid(num_tokens, num_kv_heads, split_blocks) block(128)
// paged: launch     attention_v2_combine grid(num_tokens, num_q_heads) block(128)
// paged: registers  255
// paged: claim      sm_80 LDG.E.128
// paged: claim      sm_90 LDG.E.128

#include "attend.cuh"
#include "head_tile.cuh"

constexpr int kSplitKeys = 512;
static_assert(kSplitKeys % paged::StreamShape<paged::kTileHeads>::kTileKeys == 0,
              "splits begin where tiles do, or a key's sums would depend on the window");

__device__ long long partial_index(const AttentionParams& p, int token, int head, int split) {
  return (static_cast<long long>(token) * p.num_q_heads + head) * p.num_splits + split;
}

__global__ void __launch_bounds__(paged::kBlockThreads, 2)
    attention_v2_split(const __grid_constant__ AttentionParams p) {
  const int token = blockIdx.x, kv_head = blockIdx.y;
  const paged::VisibleKeys seen = paged::find_visible_keys(p, token);
  for (int split = blockIdx.z; split * kSplitKeys < seen.end; split += gridDim.z) {
    const int begin = max(seen.begin, split * kSplitKeys);
    const int end = min(seen.end, (split + 1) * kSplitKeys);
    if (begin >= end) continue;
    for (int turn = 0; turn < paged::kHeadTiles; ++turn) {
      paged::attend<paged::kTileHeads>(
          p, seen, token, paged::head_tile(kv_head, turn), begin, end,
          [&](int head, int d, float value, const paged::RowSums& row) {
            const long long index = partial_index(p, token, head, split);
            p.partial[index * HEAD_DIM + d] = value;
            if (d == 0) {
              p.partial_rows[index * 2] = row.maximum;
              p.partial_rows[index * 2 + 1] = row.sum;
            }
          });
    }
  }
}

// Without a count of blocks, registers are sized for full occupancy, and spill at 256 dimensions.
__global__ void __launch_bounds__(paged::kBlockThreads, 8)
    attention_v2_combine(const __grid_constant__ AttentionParams p) {
  const int token = blockIdx.x, head = blockIdx.y;
  const paged::VisibleKeys seen = paged::find_visible_keys(p, token);
  const int first = seen.begin / kSplitKeys;
  const int end = seen.begin < seen.end ? (seen.end - 1) / kSplitKeys + 1 : first;
  const long long row_index = partial_index(p, token, head, 0);
  const float* partial = p.partial + row_index * HEAD_DIM;
  const float* partial_rows = p.partial_rows + row_index * 2;

  paged::RowSums row;
  for (int split = first; split < end; ++split) row.raise(partial_rows[split * 2]);
  for (int split = first; split < end; ++split) {
    row.sum += paged::weight_of(partial_rows[split * 2], row.maximum) * partial_rows[split * 2 + 1];
  }
  for (int d = threadIdx.x; d < HEAD_DIM; d += paged::kBlockThreads) {
    float value = 0.0f;
    for (int split = first; split < end; ++split) {
      const float factor = paged::weight_of(partial_rows[split * 2], row.maximum);
      value += factor * partial[static_cast<long long>(split) * HEAD_DIM + d];
    }
    paged::write_element(p, seen, token, head, head / GROUP_SIZE, d, value, row);
  }
}
