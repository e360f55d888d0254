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
// paged: symbol     num_tiles = cdiv(num_tokens * group_size, tile_rows) + num_seqs
// paged: symbol     tile_floats = (tile_rows + tile_keys) * (head_dim + 1) + tile_rows * tile_keys
// paged: symbol     shared_bytes = 4 * tile_floats
// paged: launch     prefill_naive grid(num_tiles, num_kv_heads) block(128) shared(shared_bytes)
// paged: registers  128

#include "chunk.cuh"
#include "kv_rows.cuh"
#include "kv_scale.cuh"
#include "prefill.cuh"

namespace paged {

constexpr int kLanes = 8;  // of one row
// Blocks per SM: without a number the compiler aims at more, and spills.
constexpr int kMinBlocks = 4;
constexpr int kThreads = kLanes * TILE_ROWS;
constexpr int kPitch = HEAD_DIM + 1;
constexpr int kLaneKeys = TILE_KEYS / kLanes;
constexpr int kLaneColumns = HEAD_DIM / kLanes;

static_assert(kThreads == 128, "the launch starts 128 threads");
static_assert(HEAD_DIM % kLanes == 0, "the lanes of a row share its output evenly");
static_assert(TILE_KEYS % kLanes == 0, "the lanes of a row share its scores evenly");

// Bring the tile's query rows to shared memory, zeros where there is none.
__device__ void load_queries(const AttentionParams& p, const RowTile& tile, float* queries) {
  for (int i = threadIdx.x; i < TILE_ROWS * HEAD_DIM; i += kThreads) {
    const int row = i / HEAD_DIM, column = i % HEAD_DIM;
    float element = 0.0f;
    if (row < tile.num_rows) {
      const long long token = batch_token(p, tile, row);
      const int head = head_of_row(p, tile, row);
      const Q_T* source = p.query + token * p.query_stride[0] + head * p.query_stride[1];
      element = static_cast<float>(source[column]);
    }
    queries[row * kPitch + column] = element;
  }
}

// Bring the keys or values of positions first, first + 1, ... to shared memory, zeros for those
// that no row of the tile sees: their blocks may be gone, their slots hold anything.
__device__ void load_tile(const KvRows& pages, const KV_T* half, float scale, KeyRange seen,
                          int first, float* tile_rows) {
  for (int i = threadIdx.x; i < TILE_KEYS * HEAD_DIM; i += kThreads) {
    const int row = i / HEAD_DIM, column = i % HEAD_DIM;
    const int key = first + row;
    const bool is_seen = seen.begin <= key && key < seen.end;
    tile_rows[row * kPitch + column] =
        is_seen ? static_cast<float>(half[pages.offset_of(key) + column]) * scale : 0.0f;
  }
}

__device__ float dot(const float* a, const float* b) {
  float sum = 0.0f;
#pragma unroll 8
  for (int i = 0; i < HEAD_DIM; ++i) sum = fmaf(a[i], b[i], sum);
  return sum;
}

// Reduce over the lanes of a row; all of them get the result.
template <class Combine>
__device__ float reduce_row(float x, Combine combine) {
  for (int step = kLanes / 2; step > 0; step /= 2) {
    x = combine(x, __shfl_xor_sync(kFullWarp, x, step));
  }
  return x;
}

}  // namespace paged

__global__ void __launch_bounds__(paged::kThreads, paged::kMinBlocks)
    prefill_naive(const __grid_constant__ AttentionParams p) {
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
  const KeyRange seen = exists ? keys_seen_from(p, position) : KeyRange{0, 0};
  const bool has_slope = exists && p.alibi_slopes != nullptr;
  const float slope = has_slope ? p.alibi_slopes[head_of_row(p, tile, row)] : 0.0f;
  queries += row * kPitch;
  weights += row * TILE_KEYS;

  RowSums sums;  // the sum is over this lane's keys
  float outputs[kLaneColumns] = {};
  const KvRows pages = kv_rows_of(p, tile.seq, blockIdx.y);
  const float key_scale = kv_scale_of(p, kKeys, blockIdx.y);
  const float value_scale = kv_scale_of(p, kValues, blockIdx.y);
  const KeyRange tile_seen = keys_seen(p, tile);
  for (int first = tile_seen.begin / TILE_KEYS * TILE_KEYS; first < tile_seen.end;
       first += TILE_KEYS) {
    __syncthreads();  // the queries are here, and the last tile's values are used up
    load_tile(pages, pages.keys, key_scale, tile_seen, first, tile_rows);
    __syncthreads();
    float logits[kLaneKeys], maximum = kMinusInfinity;
    for (int i = 0; i < kLaneKeys; ++i) {
      const int key = first + lane + i * kLanes;
      const float score = p.scale * dot(queries, tile_rows + (lane + i * kLanes) * kPitch);
      const bool is_seen = seen.begin <= key && key < seen.end;
      logits[i] = is_seen ? logit_of(score, p.softcap, slope, key - position) : kMinusInfinity;
      maximum = fmaxf(maximum, logits[i]);
    }
    const auto larger = [](float a, float b) { return fmaxf(a, b); };
    const float factor = sums.raise(reduce_row(maximum, larger));
    for (int i = 0; i < kLaneKeys; ++i) {
      const float weight = weight_of(logits[i], sums.maximum);
      weights[lane + i * kLanes] = weight;
      sums.sum += weight;
    }
    __syncthreads();  // the keys are used up, and the weights are here
    load_tile(pages, pages.values, value_scale, tile_seen, first, tile_rows);
    __syncthreads();
    for (int i = 0; i < kLaneColumns; ++i) outputs[i] *= factor;
#pragma unroll 4
    for (int key = 0; key < TILE_KEYS; ++key) {
      const float weight = weights[key];
      const float* value = tile_rows + key * kPitch + lane;
      for (int i = 0; i < kLaneColumns; ++i) {
        outputs[i] = fmaf(weight, value[i * kLanes], outputs[i]);
      }
    }
  }
  sums.sum = reduce_row(sums.sum, [](float a, float b) { return a + b; });
  if (!exists) return;
  const float factor = finish_row(p, tile, row, sums);
  const long long place = output_row(p, tile, row);
  if (lane == 0) p.lse[place] = sums.log_sum();
  for (int i = 0; i < kLaneColumns; ++i) {
    p.out[place * HEAD_DIM + lane + i * kLanes] = static_cast<Q_T>(outputs[i] * factor);
  }
}
