// Attention of one query token and up to kHeads query heads of one KV head, by one block.
//
// The block's warps are dealt the keys (key_streams.cuh), and their sums are merged at the end.
//
// Shared: kHeads * (HEAD_DIM + 1) floats of queries and
//         kBlockWarps * kPassHeads * (HEAD_DIM + 2) floats of sums.
#pragma once

#include "key_streams.cuh"
#include "kv_scale.cuh"
#include "visible_keys.cuh"

namespace paged {

// Query heads [first, first + count) of KV head kv_head.
struct Heads {
  int first, count, kv_head;
};

// The sums of all warps, a few heads at a time.
template <int kHeads>
struct SharedSums {
  static constexpr int kPassHeads = kHeads < 4 ? kHeads : 4;
  float values[kBlockWarps][kPassHeads][HEAD_DIM];
  RowSums rows[kBlockWarps][kPassHeads];
};

// careful: only in shared memory, where objects are not constructed
template <class T>
struct SharedRoom {
  alignas(T) unsigned char bytes[sizeof(T)];
  __device__ T& get() { return *reinterpret_cast<T*>(bytes); }
};

// Loads the queries of some heads into shared memory, times all scales of a score. A barrier must
// follow.
template <int kHeads>
__device__ inline void share_queries(const AttentionParams& p, int token, const Heads& heads,
                                     SharedQueries<kHeads>& shared) {
  const float scale = p.scale * kv_scale_of(p, kKeys, heads.kv_head);
  for (int i = threadIdx.x; i < kHeads * HEAD_DIM; i += kBlockThreads) {
    const int head = i / HEAD_DIM, d = i % HEAD_DIM;
    const Q_T* query =
        p.query + token * p.query_stride[0] + (heads.first + head) * p.query_stride[1];
    shared.query[head][d] = head < heads.count ? scale * static_cast<float>(query[d]) : 0.0f;
  }
  for (int head = threadIdx.x; head < kHeads; head += kBlockThreads) {
    const bool has_slope = p.alibi_slopes != nullptr && head < heads.count;
    shared.slope[head] = has_slope ? p.alibi_slopes[heads.first + head] : 0.0f;
  }
}

// Adds the sums that the warps have of one element of the output.
template <int kHeads>
__device__ inline float merge_warps(const SharedSums<kHeads>& shared, int head, int d,
                                    RowSums& row) {
  row = RowSums{};
#pragma unroll
  for (int warp = 0; warp < kBlockWarps; ++warp) row.raise(shared.rows[warp][head].maximum);
  float value = 0.0f;
#pragma unroll
  for (int warp = 0; warp < kBlockWarps; ++warp) {
    const float factor = weight_of(shared.rows[warp][head].maximum, row.maximum);
    row.sum += factor * shared.rows[warp][head].sum;
    value += factor * shared.values[warp][head][d];
  }
  return value;
}

// Calls emit(query head, dimension, sum of weighted values, RowSums) for every head and dimension,
// over keys [begin, end). All threads of the block take part.
template <int kHeads, class Emit>
__device__ void attend(const AttentionParams& p, const VisibleKeys& seen, int token,
                       const Heads& heads, int begin, int end, Emit emit) {
  using Stream = KeyStream<kHeads>;
  using Sums = SharedSums<kHeads>;
  __shared__ SharedRoom<SharedQueries<kHeads>> queries;
  __shared__ SharedRoom<Sums> room;
  share_queries(p, token, heads, queries.get());
  __syncthreads();
  Stream stream;
  stream.add(kv_rows_of(p, seen.sequence, heads.kv_head), queries.get(), begin, end,
             seen.position, p.softcap);
  stream.merge_warp();

  Sums& sums = room.get();
  const int warp = threadIdx.x / kWarpSize;
#pragma unroll
  for (int pass = 0; pass < kHeads; pass += Sums::kPassHeads) {
    if (threadIdx.x % kWarpSize < Stream::Shape::kLanes) {
#pragma unroll
      for (int i = 0; i < Sums::kPassHeads && pass + i < kHeads; ++i) {
        write_sums(stream, pass + i, sums.values[warp][i]);
        if (Stream::lane() == 0) sums.rows[warp][i] = stream.rows[pass + i];
      }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < Sums::kPassHeads * HEAD_DIM; i += kBlockThreads) {
      const int head = i / HEAD_DIM, d = i % HEAD_DIM;
      if (pass + head >= heads.count) break;
      RowSums row;
      const float value = merge_warps(sums, head, d, row);
      emit(heads.first + pass + head, d, value, row);
    }
    __syncthreads();
  }
}

// Writes the sums that this lane has of one head, a row of HEAD_DIM elements.
template <int kHeads>
__device__ inline void write_sums(const KeyStream<kHeads>& stream, int head, float* to) {
  using Shape = StreamShape<kHeads>;
#pragma unroll
  for (int i = 0; i < Shape::kLaneElements; ++i) {
    const int d = stream.dimension_of(i / Shape::kVector) + i % Shape::kVector;
    if (d < HEAD_DIM) to[d] = stream.values[head][i];
  }
}

// Writes one element of the output, from its sum of weighted values and its row's sums, and with
// the first one the row's lse.
__device__ inline void write_element(const AttentionParams& p, const VisibleKeys& seen, int token,
                                     int head, int kv_head, int d, float value, RowSums row) {
  float factor = kv_scale_of(p, kValues, kv_head);
  if (p.sinks != nullptr && !seen.is_padding) factor *= row.add_sink(p.sinks[head]);
  const long long output = static_cast<long long>(token) * p.num_q_heads + head;
  p.out[output * HEAD_DIM + d] = static_cast<Q_T>(value * (factor * row.normalizer()));
  if (d == 0) p.lse[output] = row.log_sum();
}

}  // namespace paged
