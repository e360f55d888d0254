// Which query rows a block of a prefill kernel serves, and which keys each row sees.
//
// Rows: of a sequence with n query tokens and one kv head, row r is query token r / group_size
// under query head r % group_size of that kv head, so that all heads that share keys share a
// loaded tile of them. The rows of a sequence are cut into tiles of kTileRows:
//
//   sequence      0             1        2   padding
//   rows          70            64       3   rest
//   tiles of 64   0 [1]         2        3   4 ..       [1] half empty: tiles never span sequences
//
// Grid: x = cdiv(num_tokens * group_size, kTileRows) + num_seqs, y = kv heads. That many tiles
// are enough for any split of the tokens among sequences, so the grid depends on shapes alone
// and a captured CUDA graph serves any batch that fits; a block finds its tile on the device.
// The tokens of no sequence form one more, without keys: those from query_start[num_seqs] on, then,
// from the batch's first on, those before query_start[0].
#pragma once

#include "softmax.cuh"
#include "visible_keys.cuh"

namespace paged {

struct RowTile {
  int seq;             // num_seqs for the padding tokens
  int first_token;     // token of the sequence's row 0; the first one follows the last
  int first_row;       // of this tile, within the sequence
  int num_rows;        // of this tile; 0 where the block has nothing to do
  int first_position;  // position of the sequence's first query token
};

// Return a sequence's first token, as far as there are tokens.
__device__ inline int start_of(const AttentionParams& p, int seq) {
  return min(p.query_start[seq], p.num_tokens);
}

// Return how many tiles of the grid come before a sequence's own: at least as many as needed.
template <int kTileRows>
__device__ int tiles_before(const AttentionParams& p, int seq) {
  return (start_of(p, seq) - start_of(p, 0)) * p.group_size / kTileRows + seq;
}

// Return the last sequence whose tiles begin at or before this one.
template <int kTileRows>
__device__ int sequence_of_tile(const AttentionParams& p, int tile) {
  int low = 0, high = p.num_seqs;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (tiles_before<kTileRows>(p, middle) <= tile) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Return the rows of a tile of the grid.
template <int kTileRows>
__device__ RowTile find_row_tile(const AttentionParams& p, int tile) {
  RowTile found{};
  found.seq = sequence_of_tile<kTileRows>(p, tile);
  const bool is_padding = found.seq == p.num_seqs;
  found.first_token = start_of(p, found.seq);
  const int end_token = is_padding ? p.num_tokens + start_of(p, 0) : start_of(p, found.seq + 1);
  const int num_tokens = end_token - found.first_token;
  found.first_row = (tile - tiles_before<kTileRows>(p, found.seq)) * kTileRows;
  found.num_rows = max(0, min(kTileRows, num_tokens * p.group_size - found.first_row));
  // careful: query_start and not end_token, for tokens left out have positions too
  found.first_position =
      is_padding ? -num_tokens
                 : p.seq_lens[found.seq] - p.query_start[found.seq + 1] + found.first_token;
  return found;
}

// Return the query token of a row of the tile, counted from the sequence's first.
__device__ inline int token_of_row(const AttentionParams& p, const RowTile& tile, int row) {
  return (tile.first_row + row) / p.group_size;
}

// Return the query head of a row of the tile.
__device__ inline int head_of_row(const AttentionParams& p, const RowTile& tile, int row) {
  return blockIdx.y * p.group_size + (tile.first_row + row) % p.group_size;
}

// Return the query token of a row of the tile in the batch.
__device__ inline long long batch_token(const AttentionParams& p, const RowTile& tile, int row) {
  const int token = tile.first_token + token_of_row(p, tile, row);
  return token < p.num_tokens ? token : token - p.num_tokens;
}

// Return where a row of the tile stands in `out` and `lse`, in query heads.
__device__ inline long long output_row(const AttentionParams& p, const RowTile& tile, int row) {
  return batch_token(p, tile, row) * p.num_q_heads + head_of_row(p, tile, row);
}

// Return the keys that any row of the tile sees.
__device__ inline KeyRange keys_seen(const AttentionParams& p, const RowTile& tile) {
  const int first = tile.first_position + token_of_row(p, tile, 0);
  const int last = tile.first_position + token_of_row(p, tile, tile.num_rows - 1);
  return {keys_seen_from(p, first).begin, keys_seen_from(p, last).end};
}

// Return the keys that every row of the tile sees; none where begin >= end.
__device__ inline KeyRange keys_seen_by_all(const AttentionParams& p, const RowTile& tile) {
  const int first = tile.first_position + token_of_row(p, tile, 0);
  const int last = tile.first_position + token_of_row(p, tile, tile.num_rows - 1);
  return {keys_seen_from(p, last).begin, keys_seen_from(p, first).end};
}

// Add the sink of a row's head, if it has one. Returns the factor for the row's output.
__device__ inline float finish_row(const AttentionParams& p, const RowTile& tile, int row,
                                   RowSums& sums) {
  const bool has_sink = p.sinks != nullptr && tile.seq < p.num_seqs && row < tile.num_rows;
  const float factor = has_sink ? sums.add_sink(p.sinks[head_of_row(p, tile, row)]) : 1.0f;
  return factor * sums.normalizer();
}

}  // namespace paged
