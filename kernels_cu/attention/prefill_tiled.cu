// Prefill and append attention with tensor cores: the schedule of FlashAttention-2 over pages.
//
// Purpose: 64 packed rows (query tokens x query heads of one kv head) meet 64 keys at a time (32
// above head_dim 128). Keys of the next tile travel while this tile's weights and outputs are
// computed, values while its scores are. Tiles that no row sees, behind the causal diagonal or
// before the window, are skipped.
// Grid: x tiles of rows, last tokens first because they see most keys; y kv heads. Block: 4
// warps, each with 16 rows.
// Shared: queries, keys, values, pitch head_dim + 8 elements.
// Batch invariance: key tiles start at multiples of TILE_KEYS from position 0, and a tile that a
// row does not see leaves its state as it was. So a row's result depends on nothing but its own
// position: not on its neighbours, and not on how a prompt was cut into chunks.
//
// paged: op         attention
// paged: summary    prefill, FlashAttention-2 schedule on tensor cores (mma, cp.async, ldmatrix)
// paged: types      q_t = float16 bfloat16
// paged: types      kv_t = float16 bfloat16 float8_e4m3fn
// paged: symbol     tile_rows = 64
// paged: symbol     tile_keys = 64 - 32 * (head_dim > 128)
// paged: constant   head_dim tile_rows tile_keys
// paged: require    head_dim % 16 == 0
// paged: require    head_dim <= 256
// paged: require    num_tokens * group_size < 2147483648
// paged: symbol     num_tiles = cdiv(num_tokens * group_size, tile_rows) + num_seqs
// paged: symbol     shared_bytes = 2 * (tile_rows + 2 * tile_keys) * (head_dim + 8)
// paged: launch     prefill_tiled grid(num_tiles, num_kv_heads) block(128) shared(shared_bytes)
// paged: registers  255
// paged: claim      sm_80 HMMA.16816
// paged: claim      sm_80 LDSM
// paged: claim      sm_80 LDGSTS

#include "half_tile.cuh"
#include "kv_rows.cuh"
#include "kv_scale.cuh"
#include "prefill.cuh"

namespace paged {

constexpr int kWarps = 4;
constexpr int kBlocksPerSm = 2;  // careful: with 3 some types and sizes spill
constexpr int kWarpRows = TILE_ROWS / kWarps;
constexpr int kWarpKeys = TILE_KEYS / kWarps;
constexpr int kKeyTiles = TILE_KEYS / 8;
constexpr int kValueTiles = HEAD_DIM / 8;

static_assert(kWarpRows == 16, "a warp multiplies 16 rows at a time");

// What a lane knows of one of its two rows, g and g + 8 of its warp.
struct Row {
  KeyRange seen;
  int position;
  float slope;
  RowSums sums;  // the sum is over this lane's columns
};

// Return row `row` of the tile; one that does not exist sees no key.
__device__ Row make_row(const AttentionParams& p, const RowTile& tile, int row) {
  if (row >= tile.num_rows) return {{0, 0}, 0, 0.0f, {}};
  const int position = tile.first_position + token_of_row(p, tile, row);
  const int head = head_of_row(p, tile, row);
  const float slope = p.alibi_slopes == nullptr ? 0.0f : p.alibi_slopes[head];
  return {keys_seen_from(p, position), position, slope, {}};
}

// Turn products of queries and keys into logits, those of keys that a row does not see into
// -infinity.
__device__ void finish_logits(const AttentionParams& p, Fragment (&logits)[kKeyTiles],
                              const Row (&rows)[2], int first_key, float scale, bool all_seen) {
  const int first_column = first_key + threadIdx.x % 4 * 2;
  const auto for_each = [&](auto change) {
#pragma unroll
    for (int tile = 0; tile < kKeyTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        logits[tile][i] = change(logits[tile][i], rows[i / 2], first_column + tile * 8 + i % 2);
      }
    }
  };
  // careful: one branch around each whole loop, for most calls need neither cap nor slope
  if (p.softcap == 0.0f && p.alibi_slopes == nullptr) {
    for_each([&](float product, const Row&, int) { return product * (scale * kLog2E); });
  } else {
    for_each([&](float product, const Row& row, int key) {
      return logit_of(product * scale, p.softcap, row.slope, key - row.position);
    });
  }
  if (all_seen) return;
  for_each([](float logit, const Row& row, int key) {
    return row.seen.begin <= key && key < row.seen.end ? logit : kMinusInfinity;
  });
}

// Turn one row's logits into weights relative to its maximum, and rescale what it summed so far.
template <int kRow>
__device__ void update_row(RowSums& sums, Fragment (&logits)[kKeyTiles],
                           Fragment (&outputs)[kValueTiles]) {
  float maximum = kMinusInfinity;
#pragma unroll
  for (int tile = 0; tile < kKeyTiles; ++tile) {
    maximum = fmaxf(maximum, fmaxf(logits[tile][2 * kRow], logits[tile][2 * kRow + 1]));
  }
  maximum = fmaxf(maximum, __shfl_xor_sync(kFullWarp, maximum, 1));
  maximum = fmaxf(maximum, __shfl_xor_sync(kFullWarp, maximum, 2));
  const float factor = sums.raise(maximum);
  // before a row has seen a key, any finite base keeps -infinity less the base from being NaN
  const float base = sums.maximum == kMinusInfinity ? 0.0f : sums.maximum;
#pragma unroll
  for (int tile = 0; tile < kKeyTiles; ++tile) {
#pragma unroll
    for (int i = 2 * kRow; i < 2 * kRow + 2; ++i) {
      logits[tile][i] = exp2_approx(logits[tile][i] - base);
      sums.sum += logits[tile][i];
    }
  }
#pragma unroll
  for (int tile = 0; tile < kValueTiles; ++tile) {
    outputs[tile][2 * kRow] *= factor;
    outputs[tile][2 * kRow + 1] *= factor;
  }
}

// Return where this lane's row of the warp's share of a key tile lies; nowhere if no row of the
// tile sees it. Only blocks that hold seen keys are looked up: others may be gone.
__device__ RowPlace key_place(const KvRows& pages, KeyRange seen, int first_key) {
  const int share = threadIdx.x / kWarpSize * kWarpKeys;
  const int key = first_key + share + threadIdx.x % kWarpSize;
  const bool is_seen = seen.begin <= key && key < seen.end;
  return {is_seen, is_seen ? pages.offset_of(key) : 0};
}

// Fill a tile of keys or values; every warp brings its share of the rows.
__device__ void load_tile(Q_T* tile, const KV_T* half, RowPlace place, bool is_aligned) {
  const int share = threadIdx.x / kWarpSize * kWarpKeys;
  load_rows<kWarpKeys>(tile + share * kTilePitch, half, place, is_aligned);
  cp_async_commit();
}

// Fill the warp's rows with its queries, and those that do not exist with zeros.
__device__ void load_queries(const AttentionParams& p, const RowTile& tile, Q_T* warp_rows) {
  const int row = threadIdx.x / kWarpSize * kWarpRows + threadIdx.x % kWarpSize;
  const long long token = batch_token(p, tile, row);
  const RowPlace place{row < tile.num_rows, token * p.query_stride[0] +
                                                head_of_row(p, tile, row) * p.query_stride[1]};
  const auto pitch = static_cast<unsigned long long>(p.query_stride[0] | p.query_stride[1]);
  const auto address = reinterpret_cast<unsigned long long>(p.query);
  load_rows<kWarpRows>(warp_rows, p.query, place, (pitch * sizeof(Q_T) | address) % 16 == 0);
  cp_async_commit();
}

// Complete the lane's two rows: normalise, write lse, and leave the outputs in the warp's tile.
__device__ void finish_rows(const AttentionParams& p, const RowTile& tile, Row (&rows)[2],
                            const Fragment (&outputs)[kValueTiles], Q_T* warp_rows) {
  const int lane = threadIdx.x % kWarpSize;
  const float scale = kv_scale_of(p, kValues, blockIdx.y);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int warp_row = lane / 4 + 8 * i;
    const int row = threadIdx.x / kWarpSize * kWarpRows + warp_row;
    RowSums sums = rows[i].sums;
    sums.sum += __shfl_xor_sync(kFullWarp, sums.sum, 1);
    sums.sum += __shfl_xor_sync(kFullWarp, sums.sum, 2);
    const float factor = finish_row(p, tile, row, sums) * scale;
    if (lane % 4 == 0 && row < tile.num_rows) p.lse[output_row(p, tile, row)] = sums.log_sum();
#pragma unroll
    for (int column = 0; column < kValueTiles; ++column) {
      auto* pairs = reinterpret_cast<unsigned*>(warp_rows + warp_row * kTilePitch + column * 8);
      pairs[lane % 4] =
          pack_pair(outputs[column][2 * i] * factor, outputs[column][2 * i + 1] * factor);
    }
  }
}

// Write the warp's outputs, 16 bytes at a time.
__device__ void store_outputs(const AttentionParams& p, const RowTile& tile,
                              const Q_T* warp_rows) {
  const int lane = threadIdx.x % kWarpSize;
  const int row = threadIdx.x / kWarpSize * kWarpRows + lane;
  const RowPlace place{lane < kWarpRows && row < tile.num_rows,
                       output_row(p, tile, row) * HEAD_DIM};
  store_rows<kWarpRows>(warp_rows, p.out, place);
}

}  // namespace paged

__global__ void __launch_bounds__(paged::kWarps * 32, paged::kBlocksPerSm)
    prefill_tiled(const __grid_constant__ AttentionParams p) {
  using namespace paged;
  extern __shared__ uint4 shared[];
  Q_T* queries = reinterpret_cast<Q_T*>(shared);
  Q_T* keys = queries + TILE_ROWS * kTilePitch;
  Q_T* values = keys + TILE_KEYS * kTilePitch;

  const RowTile tile = find_row_tile<TILE_ROWS>(p, gridDim.x - 1 - blockIdx.x);
  if (tile.num_rows == 0) return;
  const int warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
  Q_T* warp_queries = queries + warp * kWarpRows * kTilePitch;
  const int row = warp * kWarpRows + lane / 4;
  Row rows[2] = {make_row(p, tile, row), make_row(p, tile, row + 8)};
  const KeyRange seen_by_all = keys_seen_by_all(p, tile);
  const float scale = p.scale * kv_scale_of(p, kKeys, blockIdx.y);

  Fragment outputs[kValueTiles] = {};
  const KvRows pages = kv_rows_of(p, tile.seq, blockIdx.y);
  const KeyRange seen = keys_seen(p, tile);
  int key = seen.begin / TILE_KEYS * TILE_KEYS;
  const bool is_aligned = pages.are_aligned(kChunk * sizeof(KV_T));
  RowPlace place = key_place(pages, seen, key);
  load_queries(p, tile, warp_queries);
  if (key < seen.end) load_tile(keys, pages.keys, place, is_aligned);
  for (; key < seen.end; key += TILE_KEYS) {
    cp_async_wait<0>();
    __syncthreads();  // the keys are here, and the last tile's values are used up
    load_tile(values, pages.values, place, is_aligned);
    place = key_place(pages, seen, key + TILE_KEYS);
    Fragment logits[kKeyTiles] = {};
    add_products(logits, warp_queries, keys);
    cp_async_wait<0>();
    __syncthreads();  // the values are here, and the keys are used up
    if (key + TILE_KEYS < seen.end) load_tile(keys, pages.keys, place, is_aligned);
    const bool all_seen = seen_by_all.begin <= key && key + TILE_KEYS <= seen_by_all.end;
    finish_logits(p, logits, rows, key, scale, all_seen);
    update_row<0>(rows[0].sums, logits, outputs);
    update_row<1>(rows[1].sums, logits, outputs);
    add_values(outputs, logits, values);
  }
  cp_async_wait<0>();
  __syncwarp();  // only this warp reads these queries, whose place its outputs take
  finish_rows(p, tile, rows, outputs, warp_queries);
  __syncwarp();
  store_outputs(p, tile, warp_queries);
}
