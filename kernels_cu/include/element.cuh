// Elements of queries, KV pools and outputs as float.
//
// Every value of __half, __nv_bfloat16 and __nv_fp8_e4m3 is exact in float.
#pragma once

#include <cuda_fp8.h>

#include <type_traits>

#include "chunk.cuh"
#include "portable.cuh"

namespace paged {

// Converts N elements.
template <class T, int N>
__device__ inline void to_floats(const Chunk<T, N>& chunk, float (&out)[N]) {
  if constexpr (std::is_same_v<T, __nv_fp8_e4m3> && N % 2 == 0) {
    const auto* pairs = reinterpret_cast<const unsigned short*>(chunk.element);
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const float2 pair = __half22float2(e4m3x2_to_half2(pairs[i / 2]));
      out[i] = pair.x;
      out[i + 1] = pair.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) out[i] = static_cast<float>(chunk.element[i]);
  }
}

}  // namespace paged
