// Elements of queries, KV pools and outputs as float.
//
// Every value of __half, __nv_bfloat16 and __nv_fp8_e4m3 is exact in float.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <type_traits>

#include "chunk.cuh"

namespace paged {

template <class T, int N>
__device__ inline void to_floats(const Chunk<T, N>& chunk, float (&out)[N]) {
  if constexpr (std::is_same_v<T, __nv_fp8_e4m3>) {
    static_assert(N % 2 == 0, "fp8 is converted in pairs, one instruction each from sm_89 on");
    const auto* pairs = reinterpret_cast<const unsigned short*>(chunk.element);
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const __half2 halves = __nv_cvt_fp8x2_to_halfraw2(pairs[i / 2], __NV_E4M3);
      const float2 floats = __half22float2(halves);
      out[i] = floats.x;
      out[i + 1] = floats.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) out[i] = static_cast<float>(chunk.element[i]);
  }
}

}  // namespace paged
