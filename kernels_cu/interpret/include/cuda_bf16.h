// bfloat16 for the interpreter: __nv_bfloat16, __nv_bfloat162 and CUDA's intrinsics on them.
#pragma once

#include "../numerics/bfloat16_codec.h"
#include "cuda_fp16.h"

#define PAGED_T __nv_bfloat16
#define PAGED_T2 __nv_bfloat162
#define PAGED_RAW __nv_bfloat16_raw
#define PAGED_RAW2 __nv_bfloat162_raw
#define PAGED_OTHER __half
#define PAGED_TAG bfloat16
#define PAGED_CODEC Bfloat16Codec
#include "../numerics/small_float.h"

inline __half::__half(const __nv_bfloat16& other) : __half(float(other)) {}
inline __nv_bfloat16::__nv_bfloat16(const __half& other) : __nv_bfloat16(float(other)) {}

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7F80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7FFFu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001u)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7F7Fu)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000u)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3F80u)
