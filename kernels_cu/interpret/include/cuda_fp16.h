// half for the interpreter: __half, __half2 and CUDA's intrinsics on them, bit for bit.
#pragma once

#include "../numerics/half_codec.h"
#include "../numerics/integers.h"
#include "vector_functions.h"

#define PAGED_T __half
#define PAGED_T2 __half2
#define PAGED_RAW __half_raw
#define PAGED_RAW2 __half2_raw
#define PAGED_OTHER __nv_bfloat16
#define PAGED_TAG half
#define PAGED_CODEC HalfCodec
#include "../numerics/small_float.h"

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;

#define CUDART_INF_FP16 __ushort_as_half(0x7C00u)
#define CUDART_NAN_FP16 __ushort_as_half(0x7FFFu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001u)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7BFFu)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000u)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000u)
#define CUDART_ONE_FP16 __ushort_as_half(0x3C00u)
