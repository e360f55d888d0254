// Rows of elements, moved a few elements at a time.
//
// A chunk of N elements is one access of up to 16 bytes where its address allows that, else N
// single ones: rows whose pitch is no multiple of the vector stay legal, and only lose speed.
// Source of the rule: vllm-project/vllm#41257, a fault on head_dim 46.
#pragma once

#include <type_traits>

namespace paged {

constexpr int kVectorBytes = 16;

template <class T, int N>
struct alignas(N * sizeof(T) < kVectorBytes ? N * sizeof(T) : kVectorBytes) Chunk {
  static_assert((N & (N - 1)) == 0, "a chunk is a power of two elements, for its alignment");
  T element[N];
};

template <class Vector>
__device__ inline bool is_aligned_for(const void* address) {
  return reinterpret_cast<unsigned long long>(address) % alignof(Vector) == 0;
}

// The first `count` elements at `from`; the others are undefined.
template <int N, class T>
__device__ inline Chunk<T, N> load_chunk(const T* from, int count) {
  using Vector = Chunk<T, N>;
  if (count >= N && is_aligned_for<Vector>(from)) return *reinterpret_cast<const Vector*>(from);
  Vector chunk;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < count) chunk.element[i] = from[i];
  }
  return chunk;
}

// Write the first `count` elements of a chunk, and no other memory.
template <int N, class T>
__device__ inline void store_chunk(T* to, const Chunk<T, N>& chunk, int count) {
  using Vector = Chunk<T, N>;
  if (count >= N && is_aligned_for<Vector>(to)) {
    *reinterpret_cast<Vector*>(to) = chunk;
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < count) to[i] = chunk.element[i];
  }
}

// x in another type: one rounding to nearest even, saturating in fp8. Equal types keep all bits.
template <class To, class From>
__device__ inline To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else {
    return static_cast<To>(static_cast<float>(x));
  }
}

// A stored value times the scale is the real one. Without a scale they are equal, to the bit.
struct Scale {
  bool exists;
  float value;
};

// The scale at an address, or none where that is null.
__device__ inline Scale load_scale(const float* scale) {
  return {scale != nullptr, scale == nullptr ? 1.0f : *scale};
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

template <class To, int N, class From>
__device__ inline Chunk<To, N> quantize(const Chunk<From, N>& chunk, Scale scale) {
  Chunk<To, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result.element[i] = quantize<To>(chunk.element[i], scale);
  return result;
}

template <class To, int N, class From>
__device__ inline Chunk<To, N> dequantize(const Chunk<From, N>& chunk, Scale scale) {
  Chunk<To, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result.element[i] = dequantize<To>(chunk.element[i], scale);
  return result;
}

}  // namespace paged
