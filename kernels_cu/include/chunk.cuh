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

// Whether a vector may be loaded from an address.
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

}  // namespace paged
