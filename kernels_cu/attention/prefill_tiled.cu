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
// paged: launch     attention_prefill_tiled grid(cdiv(num_tokens * group_size, tile_rows) + num_seqs, num_kv_heads) block(128) shared(2 * (head_dim + 8) * (tile_rows + 2 * tile_keys))
// paged: registers  255
// paged: claim      sm_80 HMMA.16816
// paged: claim      sm_80 LDSM
// paged: claim      sm_80 LDGSTS

#include "half_tile.cuh"
#include "kv_pool.cuh"
#include "prefill.cuh"

namespace paged {

constexpr int kWarps = 4;
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
  float highest;  // score so far
  float total;    // of the weights so far, in this lane's columns
};

// Return row `row` of the tile; one that does not exist sees no key.
__device__ Row make_row(const AttentionParams& p, const RowTile& tile, int row) {
  if (row >= tile.num_rows) return {{0, 0}, 0, 0.0f, -INFINITY, 0.0f};
  const int position = tile.first_position + token_of_row(p, tile, row);
  const int head = head_of_row(p, tile, row);
  const float slope = p.alibi_slopes == nullptr ? 0.0f : p.alibi_slopes[head];
  return {keys_seen_from(p, position, tile.num_keys), position, slope, -INFINITY, 0.0f};
}

// Turn products into scores, and those of keys that a row does not see into -inf.
__device__ void finish_scores(const AttentionParams& p, Fragment (&scores)[kKeyTiles],
                              const Row (&rows)[2], int first_key, float scale, bool all_seen) {
  const int first_column = first_key + threadIdx.x % 4 * 2;
#pragma unroll
  for (int tile = 0; tile < kKeyTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Row& row = rows[i / 2];
      const int key = first_column + tile * 8 + i % 2;
      const float score = score_of(p, scores[tile][i] * scale, row.slope, key - row.position);
      const bool is_seen = all_seen || (row.seen.begin <= key && key < row.seen.end);
      scores[tile][i] = is_seen ? score : -INFINITY;
    }
  }
}

// Turn one row's scores into weights relative to its highest score, and rescale its sums.
template <int kRow>
__device__ void update_row(Row& row, Fragment (&scores)[kKeyTiles],
                           Fragment (&sums)[kValueTiles]) {
  float highest = row.highest;
#pragma unroll
  for (int tile = 0; tile < kKeyTiles; ++tile) {
    highest = fmaxf(highest, fmaxf(scores[tile][2 * kRow], scores[tile][2 * kRow + 1]));
  }
  highest = fmaxf(highest, __shfl_xor_sync(kWholeWarp, highest, 1));
  highest = fmaxf(highest, __shfl_xor_sync(kWholeWarp, highest, 2));
  // before a row has seen a key, any finite base keeps -inf - base from being NaN
  const float base = highest == -INFINITY ? 0.0f : highest;
  const float rescale = exp2_approx((row.highest - base) * kLog2E);
  row.highest = highest;
  row.total *= rescale;
#pragma unroll
  for (int tile = 0; tile < kKeyTiles; ++tile) {
#pragma unroll
    for (int i = 2 * kRow; i < 2 * kRow + 2; ++i) {
      scores[tile][i] = exp2_approx((scores[tile][i] - base) * kLog2E);
      row.total += scores[tile][i];
    }
  }
#pragma unroll
  for (int tile = 0; tile < kValueTiles; ++tile) {
    sums[tile][2 * kRow] *= rescale;
    sums[tile][2 * kRow + 1] *= rescale;
  }
}

// The pages of one sequence under one kv head, as far as the tile's rows see them.
struct Pages {
  const KV_T* head;  // this layer and kv head in block 0
  const int* table;
  KeyRange seen;
};

__device__ Pages make_pages(const AttentionParams& p, const RowTile& tile) {
  const Slot first{0, 0};
  const KV_T* head = p.kv_pool + row_offset(p.kv_pool_stride, first, p.layer, kKeys, blockIdx.y);
  return {head, p.block_tables + 1LL * tile.seq * p.max_blocks, keys_seen(p, tile)};
}

// Return where this lane's row of the warp's share of a key tile lies; null if it is not seen.
// Only blocks that hold seen keys are looked up: others may be gone.
__device__ const KV_T* key_row(const AttentionParams& p, const Pages& pages, int first_key) {
  const int share = threadIdx.x / kWarpLanes * kWarpKeys;
  const int key = first_key + share + threadIdx.x % kWarpLanes;
  if (key < pages.seen.begin || key >= pages.seen.end) return nullptr;
  const long long block = pages.table[key / p.block_size];
  return pages.head + block * p.kv_pool_stride[kBlockAxis] +
         key % p.block_size * p.kv_pool_stride[kSlotAxis];
}

// Fill a tile of keys or values; every warp brings its share of the rows.
__device__ void load_tile(Q_T* tile, const KV_T* row_of_lane) {
  const int share = threadIdx.x / kWarpLanes * kWarpKeys;
  load_rows<kWarpKeys>(tile + share * kTilePitch, row_of_lane);
  cp_async_commit();
}

// Fill the warp's rows with its queries, and those that do not exist with zeros.
__device__ void load_queries(const AttentionParams& p, const RowTile& tile, Q_T* rows) {
  const int row = threadIdx.x / kWarpLanes * kWarpRows + threadIdx.x % kWarpLanes;
  const Q_T* source = nullptr;
  if (row < tile.num_rows) {
    const long long token = tile.first_token + token_of_row(p, tile, row);
    source = p.query + token * p.query_stride[0] + head_of_row(p, tile, row) * p.query_stride[1];
  }
  load_rows<kWarpRows>(rows, source);
  cp_async_commit();
}

// Complete the lane's two rows: normalise, write lse, and leave the outputs in the warp's tile.
__device__ void finish_rows(const AttentionParams& p, const RowTile& tile, Row (&rows)[2],
                            const Fragment (&sums)[kValueTiles], Q_T* outputs) {
  const int lane = threadIdx.x % kWarpLanes;
  const float* scale = scale_of(p.kv_scales, p.layer, kValues, blockIdx.y, p.num_kv_heads);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int warp_row = lane / 4 + 8 * i;
    const int row = threadIdx.x / kWarpLanes * kWarpRows + warp_row;
    float total = rows[i].total;
    total += __shfl_xor_sync(kWholeWarp, total, 1);
    total += __shfl_xor_sync(kWholeWarp, total, 2);
    const Denominator whole = denominator(p, tile, row, rows[i].highest, total);
    if (lane % 4 == 0 && row < tile.num_rows) p.lse[output_row(p, tile, row)] = whole.lse;
    const float factor = whole.factor * (scale == nullptr ? 1.0f : *scale);
#pragma unroll
    for (int column = 0; column < kValueTiles; ++column) {
      auto* pair = reinterpret_cast<unsigned*>(outputs + warp_row * kTilePitch + column * 8);
      pair[lane % 4] =
          pack_pair(sums[column][2 * i] * factor, sums[column][2 * i + 1] * factor);
    }
  }
}

// Write the warp's outputs, 16 bytes at a time.
__device__ void store_outputs(const AttentionParams& p, const RowTile& tile, const Q_T* outputs) {
  const int lane = threadIdx.x % kWarpLanes;
  const int row = threadIdx.x / kWarpLanes * kWarpRows + lane;
  const bool is_stored = lane < kWarpRows && row < tile.num_rows;
  store_rows(outputs, is_stored ? p.out + output_row(p, tile, row) * HEAD_DIM : nullptr);
}

}  // namespace paged

__global__ void __launch_bounds__(paged::kWarps * 32)
    attention_prefill_tiled(const __grid_constant__ AttentionParams p) {
  using namespace paged;
  extern __shared__ uint4 shared[];
  Q_T* queries = reinterpret_cast<Q_T*>(shared) + threadIdx.x / kWarpLanes * kWarpRows * kTilePitch;
  Q_T* keys = reinterpret_cast<Q_T*>(shared) + TILE_ROWS * kTilePitch;
  Q_T* values = keys + TILE_KEYS * kTilePitch;

  const RowTile tile = find_row_tile<TILE_ROWS>(p, gridDim.x - 1 - blockIdx.x);
  if (tile.num_rows == 0) return;
  const Pages pages = make_pages(p, tile);
  const KeyRange seen_by_all = keys_seen_by_all(p, tile);
  const int first_row = threadIdx.x / kWarpLanes * kWarpRows + threadIdx.x % kWarpLanes / 4;
  Row rows[2] = {make_row(p, tile, first_row), make_row(p, tile, first_row + 8)};
  const float* key_scale = scale_of(p.kv_scales, p.layer, kKeys, blockIdx.y, p.num_kv_heads);
  const float scale = p.scale * (key_scale == nullptr ? 1.0f : *key_scale);

  Fragment sums[kValueTiles] = {};
  int key = pages.seen.begin / TILE_KEYS * TILE_KEYS;
  const KV_T* row = key_row(p, pages, key);
  load_queries(p, tile, queries);
  if (key < pages.seen.end) load_tile(keys, row);
  for (; key < pages.seen.end; key += TILE_KEYS) {
    cp_async_wait<0>();
    __syncthreads();  // the keys are here, and the last tile's values are used up
    load_tile(values, row == nullptr ? nullptr : row + p.kv_pool_stride[kHalfAxis]);
    row = key_row(p, pages, key + TILE_KEYS);
    Fragment scores[kKeyTiles] = {};
    add_scores(scores, queries, keys);
    cp_async_wait<0>();
    __syncthreads();  // the values are here, and the keys are used up
    if (key + TILE_KEYS < pages.seen.end) load_tile(keys, row);
    const bool all_seen = seen_by_all.begin <= key && key + TILE_KEYS <= seen_by_all.end;
    finish_scores(p, scores, rows, key, scale, all_seen);
    update_row<0>(rows[0], scores, sums);
    update_row<1>(rows[1], scores, sums);
    add_values(sums, scores, values);
  }
  cp_async_wait<0>();
  __syncwarp();  // each warp alone reads its queries, whose place the outputs take
  finish_rows(p, tile, rows, sums, queries);
  __syncwarp();
  store_outputs(p, tile, queries);
}
