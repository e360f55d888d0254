// 8-bit floating point for the interpreter: __nv_fp8_e4m3, __nv_fp8_e5m2, their pairs and
// quadruples, and CUDA's conversions.
#pragma once

#include "../numerics/fp8_codec.h"
#include "cuda_bf16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double value, __nv_saturation_t saturation,
                                                 __nv_fp8_interpretation_t format) {
    using namespace paged_interpret;
    const bool is_saturating = saturation == __NV_SATFINITE;
    return format == __NV_E4M3 ? encode_fp8<E4m3Codec>(value, is_saturating)
                               : encode_fp8<E5m2Codec>(value, is_saturating);
}

inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t bits,
                                          __nv_fp8_interpretation_t format) {
    using namespace paged_interpret;
    const float value = format == __NV_E4M3 ? E4m3Codec::decode(bits) : E5m2Codec::decode(bits);
    return {HalfCodec::encode(value)};
}

inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t bits,
                                              __nv_fp8_interpretation_t format) {
    const auto low = static_cast<__nv_fp8_storage_t>(bits & 0xFF);
    const auto high = static_cast<__nv_fp8_storage_t>(bits >> 8);
    return {__nv_cvt_fp8_to_halfraw(low, format).x, __nv_cvt_fp8_to_halfraw(high, format).x};
}

#define PAGED_FROM(name, type, value)                                                             \
    inline __nv_fp8_storage_t __nv_cvt_##name##_to_fp8(type a, __nv_saturation_t saturation,      \
                                                       __nv_fp8_interpretation_t format) {        \
        return __nv_cvt_double_to_fp8(value, saturation, format);                                 \
    }

PAGED_FROM(float, float, a)
PAGED_FROM(halfraw, __half_raw, float(__half(a)))
PAGED_FROM(bfloat16raw, __nv_bfloat16_raw, float(__nv_bfloat16(a)))
#undef PAGED_FROM

#define PAGED_FROM_PAIR(pair, type, scalar, low, high)                                            \
    inline __nv_fp8x2_storage_t __nv_cvt_##pair##_to_fp8x2(type a, __nv_saturation_t saturation,  \
                                                           __nv_fp8_interpretation_t format) {    \
        const unsigned x = __nv_cvt_##scalar##_to_fp8(low, saturation, format);                   \
        const unsigned y = __nv_cvt_##scalar##_to_fp8(high, saturation, format);                  \
        return static_cast<__nv_fp8x2_storage_t>(x | y << 8);                                     \
    }

PAGED_FROM_PAIR(float2, float2, float, a.x, a.y)
PAGED_FROM_PAIR(double2, double2, double, a.x, a.y)
PAGED_FROM_PAIR(halfraw2, __half2_raw, halfraw, __half_raw{a.x}, __half_raw{a.y})
PAGED_FROM_PAIR(bfloat16raw2, __nv_bfloat162_raw, bfloat16raw, __nv_bfloat16_raw{a.x},
                __nv_bfloat16_raw{a.y})
#undef PAGED_FROM_PAIR

namespace paged_interpret {

inline __nv_fp8x4_storage_t join_pairs(__nv_fp8x2_storage_t low, __nv_fp8x2_storage_t high) {
    return static_cast<unsigned>(low) | static_cast<unsigned>(high) << 16;
}

}  // namespace paged_interpret

#define PAGED_T __nv_fp8_e4m3
#define PAGED_T2 __nv_fp8x2_e4m3
#define PAGED_T4 __nv_fp8x4_e4m3
#define PAGED_FORMAT __NV_E4M3
#define PAGED_CODEC paged_interpret::E4m3Codec
#include "../numerics/fp8_types.h"

#define PAGED_T __nv_fp8_e5m2
#define PAGED_T2 __nv_fp8x2_e5m2
#define PAGED_T4 __nv_fp8x4_e5m2
#define PAGED_FORMAT __NV_E5M2
#define PAGED_CODEC paged_interpret::E5m2Codec
#include "../numerics/fp8_types.h"
