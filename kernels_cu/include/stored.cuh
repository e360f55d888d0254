// What a KV pool stores for a real number, and back: scaled, rounded once, saturating in fp8.
//
// All arithmetic is float32; the one rounding is to nearest even.
#pragma once

#include "chunk.cuh"
#include "kv_pool.cuh"

namespace paged {

// A stored value times the scale is the real one. Without a scale they are equal, to the bit.
struct Scale {
  bool exists;
  float value;
};

constexpr Scale kNoScale = {false, 1.0f};

// The scale of one head's keys or values.
// scales: [num_layers, 2, num_kv_heads], contiguous, or null.
__device__ inline Scale scale_of(const float* scales, int layer, KvHalf half, int head,
                                 int num_kv_heads) {
  if (scales == nullptr) return kNoScale;
  return {true, scales[(static_cast<long long>(layer) * kNumHalves + half) * num_kv_heads + head]};
}

// The value to store for a real x.
template <class To, class From>
__device__ inline To quantize(From x, Scale scale) {
  if (!scale.exists) return convert<To>(x);
  return convert<To>(static_cast<float>(x) / scale.value);
}

// The real value of a stored x.
template <class To, class From>
__device__ inline To dequantize(From x, Scale scale) {
  if (!scale.exists) return convert<To>(x);
  return convert<To>(static_cast<float>(x) * scale.value);
}

// The values to store for a chunk.
template <class To, int N, class From>
__device__ inline Chunk<To, N> quantize(const Chunk<From, N>& chunk, Scale scale) {
  Chunk<To, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result.element[i] = quantize<To>(chunk.element[i], scale);
  return result;
}

// The real values of a stored chunk.
template <class To, int N, class From>
__device__ inline Chunk<To, N> dequantize(const Chunk<From, N>& chunk, Scale scale) {
  Chunk<To, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result.element[i] = dequantize<To>(chunk.element[i], scale);
  return result;
}

}  // namespace paged
