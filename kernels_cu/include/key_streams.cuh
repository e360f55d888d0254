// Attention of kHeads query heads that share keys, by one warp: the part of a block's keys that
// its streams are dealt.
//
// A stream is a group of neighbouring lanes that reads one row at a time, a vector of up to 16
// bytes per lane, and has its own online softmax. No logit ever leaves registers, so there is no
// limit on the number of keys. Example: head_dim 128 of 2-byte elements, 4 warps:
//
//   stream 0     lanes 0..15 of warp 0     keys 0, 8, 16, ...
//   stream 1     lanes 16..31 of warp 0    keys 1, 9, 17, ...
//   stream 2     lanes 0..15 of warp 1     keys 2, 10, 18, ...
//
// A tile is kDepth keys of every stream, all of whose loads are issued before any is used; tiles
// begin at multiples of their length. So which sums a key enters depends on its position alone.
//
// Registers: kHeads * kLaneElements sums, at most 128 for a head_dim of up to 256.
// KV_T and HEAD_DIM are macros of the attention op.
#pragma once

#include "element.cuh"
#include "kv_rows.cuh"
#include "softmax.cuh"

namespace paged {

constexpr int kBlockWarps = 4;
constexpr int kBlockThreads = kBlockWarps * kWarpSize;

template <int kHeads>
struct StreamShape {
  static constexpr int kMaxSums = 128;

  // The longest vector that divides a row and leaves room for the sums of all heads.
  static constexpr int vector_elements() {
    int elements = kVectorBytes / static_cast<int>(sizeof(KV_T));
    while (HEAD_DIM % elements != 0 || elements * kHeads > kMaxSums) elements /= 2;
    return elements;
  }
  static constexpr int lanes() {
    int lanes = 1;
    while (lanes < kWarpSize && lanes * kVector < HEAD_DIM) lanes *= 2;
    return lanes;
  }

  static constexpr int kVector = vector_elements();
  static constexpr int kLanes = lanes();
  static constexpr int kLaneVectors = (HEAD_DIM / kVector + kLanes - 1) / kLanes;
  static constexpr int kLaneElements = kLaneVectors * kVector;
  static constexpr int kStreams = kBlockThreads / kLanes;
  // registers for loads in flight are what the sums leave
  static constexpr int kDepth = kHeads <= 2 ? 4 : kHeads * kLaneElements <= 64 ? 2 : 1;
  static constexpr int kTileKeys = kStreams * kDepth;
};

// The queries of a block in shared memory, times all scales of a score.
template <int kHeads>
struct alignas(kVectorBytes) SharedQueries {
  float query[kHeads][HEAD_DIM];
  float slope[kHeads];  // 0 without ALiBi
};

template <int kHeads>
class KeyStream {
 public:
  using Shape = StreamShape<kHeads>;

  RowSums rows[kHeads];                        // the same in all lanes of the stream
  float values[kHeads][Shape::kLaneElements];  // of this lane's dimensions

  __device__ KeyStream() {
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
#pragma unroll
      for (int i = 0; i < Shape::kLaneElements; ++i) values[head][i] = 0.0f;
    }
  }

  // Adds keys [begin, end) of a sequence. All threads of the block take part.
  __device__ void add(const KvRows& kv, const SharedQueries<kHeads>& shared, int begin, int end,
                      int position, float softcap) {
    const bool are_aligned = kv.are_aligned(sizeof(Vector));
#pragma unroll 1
    for (int tile = begin / Shape::kTileKeys * Shape::kTileKeys; tile < end;
         tile += Shape::kTileKeys) {
      const Keys keys{tile + stream(), begin, end, position};
      Tile loaded;
      if (are_aligned) {
        load<true>(kv, keys, loaded);
      } else {
        load<false>(kv, keys, loaded);
      }
      float logits[kHeads][Shape::kDepth];
      score(loaded, shared, keys, softcap, logits);
      accumulate(loaded, logits);
    }
  }

  // Makes the sums of every stream of the warp those of all its streams.
  __device__ void merge_warp() {
#pragma unroll
    for (int step = Shape::kLanes; step < kWarpSize; step *= 2) {
#pragma unroll
      for (int head = 0; head < kHeads; ++head) {
        RowSums& row = rows[head];
        const float factor = row.raise(__shfl_xor_sync(kFullWarp, row.maximum, step));
        row.sum += __shfl_xor_sync(kFullWarp, row.sum, step);
#pragma unroll
        for (int i = 0; i < Shape::kLaneElements; ++i) {
          const float own = values[head][i] * factor;
          values[head][i] = own + __shfl_xor_sync(kFullWarp, own, step);
        }
      }
    }
  }

  // First of the dimensions of one of this lane's vectors; HEAD_DIM or above for none.
  static __device__ int dimension_of(int vector) {
    return (vector * Shape::kLanes + lane()) * Shape::kVector;
  }
  static __device__ int lane() { return threadIdx.x % Shape::kLanes; }
  static __device__ int stream() { return threadIdx.x / Shape::kLanes; }

 private:
  using Vector = Chunk<KV_T, Shape::kVector>;

  struct Tile {
    Vector keys[Shape::kDepth][Shape::kLaneVectors];
    Vector values[Shape::kDepth][Shape::kLaneVectors];
  };

  // The keys of this stream in a tile.
  struct Keys {
    int first, begin, end, position;

    __device__ int at(int depth) const { return first + depth * Shape::kStreams; }
    __device__ bool is_visible(int depth) const { return begin <= at(depth) && at(depth) < end; }
  };

  template <bool kAreAligned>
  static __device__ Vector read(const KV_T* from) {
    if constexpr (kAreAligned) {
      return *reinterpret_cast<const Vector*>(from);
    } else {
      Vector vector;
#pragma unroll
      for (int i = 0; i < Shape::kVector; ++i) vector.element[i] = from[i];
      return vector;
    }
  }

  template <bool kAreAligned>
  static __device__ void load(const KvRows& kv, const Keys& keys, Tile& tile) {
#pragma unroll
    for (int depth = 0; depth < Shape::kDepth; ++depth) {
      const long long offset = keys.is_visible(depth) ? kv.offset_of(keys.at(depth)) : 0;
#pragma unroll
      for (int i = 0; i < Shape::kLaneVectors; ++i) {
        const int dimension = dimension_of(i);
        // slots that are not visible may hold NaN, and 0 * NaN is NaN
        tile.keys[depth][i] = tile.values[depth][i] = Vector{};
        if (!keys.is_visible(depth) || dimension >= HEAD_DIM) continue;
        tile.keys[depth][i] = read<kAreAligned>(kv.keys + offset + dimension);
        tile.values[depth][i] = read<kAreAligned>(kv.values + offset + dimension);
      }
    }
  }

  static __device__ void score(const Tile& tile, const SharedQueries<kHeads>& shared,
                               const Keys& keys, float softcap,
                               float (&logits)[kHeads][Shape::kDepth]) {
    float scores[kHeads][Shape::kDepth] = {};
#pragma unroll
    for (int i = 0; i < Shape::kLaneVectors; ++i) {
      const int dimension = dimension_of(i);
      if (dimension >= HEAD_DIM) continue;
      float key[Shape::kDepth][Shape::kVector];
#pragma unroll
      for (int depth = 0; depth < Shape::kDepth; ++depth) {
        to_floats(tile.keys[depth][i], key[depth]);
      }
#pragma unroll
      for (int head = 0; head < kHeads; ++head) {
        const auto query = *reinterpret_cast<const Chunk<float, Shape::kVector>*>(
            shared.query[head] + dimension);
#pragma unroll
        for (int depth = 0; depth < Shape::kDepth; ++depth) {
#pragma unroll
          for (int e = 0; e < Shape::kVector; ++e) {
            scores[head][depth] += query.element[e] * key[depth][e];
          }
        }
      }
    }
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
#pragma unroll
      for (int depth = 0; depth < Shape::kDepth; ++depth) {
        const float score = warp_sum<Shape::kLanes>(scores[head][depth]);
        const int distance = keys.at(depth) - keys.position;
        const float logit = logit_of(score, softcap, shared.slope[head], distance);
        logits[head][depth] = keys.is_visible(depth) ? logit : kMinusInfinity;
      }
    }
  }

  __device__ void accumulate(const Tile& tile, const float (&logits)[kHeads][Shape::kDepth]) {
    float weights[kHeads][Shape::kDepth];
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
      float maximum = logits[head][0];
#pragma unroll
      for (int depth = 1; depth < Shape::kDepth; ++depth) {
        maximum = fmaxf(maximum, logits[head][depth]);
      }
      const float factor = rows[head].raise(maximum);
#pragma unroll
      for (int i = 0; i < Shape::kLaneElements; ++i) values[head][i] *= factor;
#pragma unroll
      for (int depth = 0; depth < Shape::kDepth; ++depth) {
        weights[head][depth] = weight_of(logits[head][depth], rows[head].maximum);
        rows[head].sum += weights[head][depth];
      }
    }
#pragma unroll
    for (int i = 0; i < Shape::kLaneVectors; ++i) {
#pragma unroll
      for (int depth = 0; depth < Shape::kDepth; ++depth) {
        float value[Shape::kVector];
        to_floats(tile.values[depth][i], value);
#pragma unroll
        for (int head = 0; head < kHeads; ++head) {
#pragma unroll
          for (int e = 0; e < Shape::kVector; ++e) {
            values[head][i * Shape::kVector + e] += weights[head][depth] * value[e];
          }
        }
      }
    }
  }
};

}  // namespace paged
