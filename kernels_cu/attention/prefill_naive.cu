// Prefill and append attention without tensor cores: tiles of queries and keys in shared memory.
//
// Purpose: every dtype and head dimension, simple enough to check by reading. 16 packed rows
// (query tokens x query heads of one kv head) meet 32 keys at a time. All arithmetic is float32.
// Grid: x tiles of rows, y kv heads (prefill.cuh). Block: 8 neighbouring lanes share a row; each
// computes four of its 32 scores and every eighth element of its output.
// Shared, in floats: queries [16][head_dim + 1], keys and then values [32][head_dim + 1], weights
// [16][32]. The odd pitch puts one column of eight keys in eight banks.
// Batch invariance: key tiles start at multiples of 32 from position 0, and a tile that a row does
// not see leaves its state as it was. So a row's result depends on nothing but its own position.
//
// paged: op         attention
// paged: summary    prefill, tiles of queries and keys in shared memory, no tensor cores
// paged: symbol     tile_rows = 16
// paged: symbol     tile_keys = 32
// paged: constant   head_dim tile_rows tile_keys
// paged: require    head_dim % 8 == 0
// paged: require    head_dim <= 256
// paged: require    num_tokens * group_size < 2147483648
// paged: launch     attention_prefill_naive grid(cdiv(num_tokens * group_size, tile_rows) + num_seqs, num_kv_heads) block(8 * tile_rows) shared(4 * ((tile_rows + tile_keys) * (head_dim + 1) + tile_rows * tile_keys))
// paged: registers  128

#include "kv_pool.cuh"
#include "prefill.cuh"

namespace paged {

constexpr int kLanes = 8;  // of one row
constexpr int kThreads = kLanes * TILE_ROWS;
constexpr int kPitch = HEAD_DIM + 1;
constexpr int kLaneKeys = TILE_KEYS / kLanes;
constexpr int kLaneColumns = HEAD_DIM / kLanes;

static_assert(HEAD_DIM % kLanes == 0, "the lanes of a row share its output evenly");
static_assert(TILE_KEYS % kLanes == 0, "the lanes of a row share its scores evenly");

// Bring the tile's query rows to shared memory, zeros where there is none.
__device__ void load_queries(const AttentionParams& p, const RowTile& tile, float* queries) {
  for (int i = threadIdx.x; i < TILE_ROWS * HEAD_DIM; i += kThreads) {
    const int row = i / HEAD_DIM, column = i % HEAD_DIM;
    float element = 0.0f;
    if (row < tile.num_rows) {
      const long long token = tile.first_token + token_of_row(p, tile, row);
      const int head = head_of_row(p, tile, row);
      element = static_cast<float>(
          p.query[token * p.query_stride[0] + head * p.query_stride[1] + column]);
    }
    queries[row * kPitch + column] = element;
  }
}

// Bring the keys or values of positions first, first + 1, ... to shared memory, zeros for those
// that no row of the tile sees: their blocks may be gone, their slots hold anything.
__device__ void load_tile(const AttentionParams& p, const RowTile& tile, KvHalf half,
                          KeyRange seen, int first, float* rows) {
  const float* scale = scale_of(p.kv_scales, p.layer, half, blockIdx.y, p.num_kv_heads);
  for (int i = threadIdx.x; i < TILE_KEYS * HEAD_DIM; i += kThreads) {
    const int row = i / HEAD_DIM, column = i % HEAD_DIM;
    const int key = first + row;
    float element = 0.0f;
    if (seen.begin <= key && key < seen.end) {
      const int block = p.block_tables[1LL * tile.seq * p.max_blocks + key / p.block_size];
      const Slot slot{block, key % p.block_size};
      const KV_T* source =
          p.kv_pool + row_offset(p.kv_pool_stride, slot, p.layer, half, blockIdx.y);
      element = static_cast<float>(source[column]) * (scale == nullptr ? 1.0f : *scale);
    }
    rows[row * kPitch + column] = element;
  }
}

__device__ float dot(const float* a, const float* b) {
  float sum = 0.0f;
  for (int i = 0; i < HEAD_DIM; ++i) sum = fmaf(a[i], b[i], sum);
  return sum;
}

// Reduce over the eight lanes of a row; all of them get the result.
template <class Combine>
__device__ float reduce_row(float x, Combine combine) {
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) {
    x = combine(x, __shfl_xor_sync(0xffffffffu, x, lanes));
  }
  return x;
}

}  // namespace paged

__global__ void __launch_bounds__(paged::kThreads)
    attention_prefill_naive(const __grid_constant__ AttentionParams p) {
  using namespace paged;
  extern __shared__ float shared[];
  float* queries = shared;
  float* tile_rows = queries + TILE_ROWS * kPitch;
  float* weights = tile_rows + TILE_KEYS * kPitch;

  const RowTile tile = find_row_tile<TILE_ROWS>(p, blockIdx.x);
  if (tile.num_rows == 0) return;
  load_queries(p, tile, queries);

  const int row = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const bool exists = row < tile.num_rows;
  const int position = tile.first_position + token_of_row(p, tile, row);
  const KeyRange seen = exists ? keys_seen_from(p, position, tile.num_keys) : KeyRange{0, 0};
  const bool has_slope = exists && p.alibi_slopes != nullptr;
  const float slope = has_slope ? p.alibi_slopes[head_of_row(p, tile, row)] : 0.0f;
  queries += row * kPitch;
  weights += row * TILE_KEYS;

  float highest = -INFINITY, total = 0.0f, sums[kLaneColumns] = {};
  const KeyRange tile_seen = keys_seen(p, tile);
  for (int first = tile_seen.begin / TILE_KEYS * TILE_KEYS; first < tile_seen.end;
       first += TILE_KEYS) {
    __syncthreads();  // the queries are here, and the last tile's values are used up
    load_tile(p, tile, kKeys, tile_seen, first, tile_rows);
    __syncthreads();
    float scores[kLaneKeys], tile_highest = highest;
    for (int i = 0; i < kLaneKeys; ++i) {
      const int key = first + lane + i * kLanes;
      const float product = p.scale * dot(queries, tile_rows + (lane + i * kLanes) * kPitch);
      const bool is_seen = seen.begin <= key && key < seen.end;
      scores[i] = is_seen ? score_of(p, product, slope, key - position) : -INFINITY;
      tile_highest = fmaxf(tile_highest, scores[i]);
    }
    tile_highest = reduce_row(tile_highest, [](float a, float b) { return fmaxf(a, b); });
    // before a row has seen a key, any finite base keeps -inf - base from being NaN
    const float base = tile_highest == -INFINITY ? 0.0f : tile_highest;
    const float rescale = expf(highest - base);
    highest = tile_highest;
    total *= rescale;
    for (int i = 0; i < kLaneKeys; ++i) {
      const float weight = expf(scores[i] - base);
      weights[lane + i * kLanes] = weight;
      total += weight;
    }
    __syncthreads();  // the keys are used up, and the weights are here
    load_tile(p, tile, kValues, tile_seen, first, tile_rows);
    __syncthreads();
    for (int i = 0; i < kLaneColumns; ++i) {
      sums[i] *= rescale;
      for (int key = 0; key < TILE_KEYS; ++key) {
        sums[i] = fmaf(weights[key], tile_rows[key * kPitch + lane + i * kLanes], sums[i]);
      }
    }
  }
  total = reduce_row(total, [](float a, float b) { return a + b; });
  if (!exists) return;
  const Denominator whole = denominator(p, tile, row, highest, total);
  const long long place = output_row(p, tile, row);
  if (lane == 0) p.lse[place] = whole.lse;
  for (int i = 0; i < kLaneColumns; ++i) {
    p.out[place * HEAD_DIM + lane + i * kLanes] = static_cast<Q_T>(sums[i] * whole.factor);
  }
}
