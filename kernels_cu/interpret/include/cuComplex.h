// CUDA's complex numbers: pairs of floats or of doubles, and functions of them.
//
// Quotients and lengths are scaled, so that they do not overflow on the way.
#pragma once

#include <math.h>

#include "vector_functions.h"

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

#define PAGED_COMPLEX(suffix, type, real, Name)                                                   \
    inline real cuCreal##suffix(type x) {                                                         \
        return x.x;                                                                               \
    }                                                                                             \
    inline real cuCimag##suffix(type x) {                                                         \
        return x.y;                                                                               \
    }                                                                                             \
    inline type make_##Name(real x, real y) {                                                     \
        return {x, y};                                                                            \
    }                                                                                             \
    inline type cuConj##suffix(type x) {                                                          \
        return {x.x, -x.y};                                                                       \
    }                                                                                             \
    inline type cuCadd##suffix(type x, type y) {                                                  \
        return {x.x + y.x, x.y + y.y};                                                            \
    }                                                                                             \
    inline type cuCsub##suffix(type x, type y) {                                                  \
        return {x.x - y.x, x.y - y.y};                                                            \
    }                                                                                             \
    inline type cuCmul##suffix(type x, type y) {                                                  \
        return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x};                                    \
    }                                                                                             \
    inline type cuCdiv##suffix(type x, type y) {                                                  \
        const real scale = real{1} / (fabs(y.x) + fabs(y.y));                                     \
        const real a = x.x * scale, b = x.y * scale, c = y.x * scale, d = y.y * scale;            \
        const real inverse = real{1} / (c * c + d * d);                                           \
        return {(a * c + b * d) * inverse, (b * c - a * d) * inverse};                            \
    }                                                                                             \
    inline type cuCfma##suffix(type x, type y, type z) {                                          \
        return {x.x * y.x + z.x - x.y * y.y, x.y * y.x + z.y + x.x * y.y};                        \
    }

PAGED_COMPLEX(f, cuFloatComplex, float, cuFloatComplex)
PAGED_COMPLEX(, cuDoubleComplex, double, cuDoubleComplex)
#undef PAGED_COMPLEX

inline float cuCabsf(cuFloatComplex x) {
    return hypotf(x.x, x.y);
}

inline double cuCabs(cuDoubleComplex x) {
    return hypot(x.x, x.y);
}

inline cuComplex make_cuComplex(float x, float y) {
    return {x, y};
}

inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) {
    return {x.x, x.y};
}

inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) {
    return {static_cast<float>(x.x), static_cast<float>(x.y)};
}
