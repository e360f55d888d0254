// Rotary position embedding of one row of a head, in float32.
//
// The first rotary_dim elements form pairs: (i, i + rotary_dim/2), or (2i, 2i + 1) where
// interleaved. Pair i turns by the angle whose cosine and sine are cos_sin[position, i] and
// cos_sin[position, rotary_dim/2 + i]; the other elements stay as they are.
// The fused multiply-add is written out, so that all compilers round alike.
#pragma once

#include "chunk.cuh"

namespace paged {

struct Rotation {
  const float* cos;  // rotary_dim / 2 values; null where the position is outside of the table
  const float* sin;
  int rotary_dim;
  bool interleaved;

  __device__ int half() const { return rotary_dim / 2; }
};

// The rotation at a position. table: [num_positions, rotary_dim].
__device__ inline Rotation rotation_at(const float* table, long long position,
                                       long long num_positions, int rotary_dim, bool interleaved) {
  const bool is_known = position >= 0 && position < num_positions;
  const float* row = is_known ? table + position * rotary_dim : nullptr;
  return {row, row + (is_known ? rotary_dim / 2 : 0), rotary_dim, interleaved};
}

// One element of a pair after rotation. x is the pair's first element where is_first, else its
// second, and `other` the one left.
__device__ inline float rotate(float x, float other, float cos, float sin, bool is_first) {
  return fmaf(x, cos, is_first ? -__fmul_rn(other, sin) : __fmul_rn(other, sin));
}

// Element d of a row after rotation.
template <class T>
__device__ inline float rotated_element(const T* row, int d, const Rotation& turn) {
  const float x = static_cast<float>(row[d]);
  if (d >= turn.rotary_dim) return x;
  const bool is_first = turn.interleaved ? d % 2 == 0 : d < turn.half();
  const int distance = turn.interleaved ? 1 : turn.half();
  const int pair = turn.interleaved ? d / 2 : d % turn.half();
  const float other = static_cast<float>(row[is_first ? d + distance : d - distance]);
  return rotate(x, other, turn.cos[pair], turn.sin[pair], is_first);
}

// Elements d .. d + 7 of a row after rotation, of which `count` exist; d is a multiple of 8.
template <int N, class T>
__device__ inline Chunk<float, N> rotated_chunk(const T* row, int d, int count,
                                                const Rotation& turn) {
  static_assert(N % 2 == 0, "a chunk holds whole interleaved pairs");
  Chunk<float, N> result;
  const bool is_whole = count >= N && turn.rotary_dim % (2 * N) == 0;
  if (!is_whole) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i < count) result.element[i] = rotated_element(row, d + i, turn);
    }
    return result;
  }
  const Chunk<T, N> own = load_chunk<N>(row + d, N);
  if (d >= turn.rotary_dim) {
#pragma unroll
    for (int i = 0; i < N; ++i) result.element[i] = static_cast<float>(own.element[i]);
  } else if (turn.interleaved) {
    const auto cos = load_chunk<N / 2>(turn.cos + d / 2, N / 2);
    const auto sin = load_chunk<N / 2>(turn.sin + d / 2, N / 2);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float x = static_cast<float>(own.element[i]);
      const float other = static_cast<float>(own.element[i ^ 1]);
      result.element[i] = rotate(x, other, cos.element[i / 2], sin.element[i / 2], i % 2 == 0);
    }
  } else {
    const bool is_first = d < turn.half();
    const int pair = is_first ? d : d - turn.half();
    const auto others = load_chunk<N>(row + (is_first ? d + turn.half() : pair), N);
    const auto cos = load_chunk<N>(turn.cos + pair, N);
    const auto sin = load_chunk<N>(turn.sin + pair, N);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float x = static_cast<float>(own.element[i]);
      const float other = static_cast<float>(others.element[i]);
      result.element[i] = rotate(x, other, cos.element[i], sin.element[i], is_first);
    }
  }
  return result;
}

}  // namespace paged
