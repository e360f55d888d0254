// CUDA's mathematical functions beyond those of C++, and its fast approximations.
//
// Results are those of the host's library, within the error that CUDA documents: the fast forms
// (__expf, __sinf, ..) are as exact as the others here.
//
// C names are extern "C" because some C libraries declare them so, and others do not.
#pragma once

// careful: <cmath> alone leaves ::exp and its kin without their float overloads.
#include <math.h>
#include <stdlib.h>

#include <cmath>

#include "../numerics/inverse_error.h"

namespace paged_interpret {

// sin(pi x) and cos(pi x), exact where they are zero: x is first brought within a quarter turn.
inline double sine_of_half_turns(double x) {
    constexpr double kPi = 3.14159265358979323846;
    const double turn = __builtin_remainder(x, 2.0);
    const bool is_behind = __builtin_fabs(turn) > 0.5;
    return __builtin_sin(kPi * (is_behind ? __builtin_copysign(1.0, turn) - turn : turn));
}

inline double cosine_of_half_turns(double x) {
    return sine_of_half_turns(0.5 - __builtin_fabs(__builtin_remainder(x, 2.0)));
}

// The modified Bessel function of the first kind, of order 0 or 1.
inline double modified_bessel(int order, double x) {
    constexpr double kOverflowFrom = 714.0;
    const double size = __builtin_fabs(x);
    const double value = size < kOverflowFrom ? std::cyl_bessel_i(order, size) : size * HUGE_VAL;
    return order == 1 && x < 0.0 ? -value : value;
}

}  // namespace paged_interpret

#define PAGED_ROOT_HALF 0.70710678118654752440

// A function of binary64, its binary32 form computed there and rounded once more.
#define PAGED_FUNCTION(name, expression)                                                          \
    extern "C" inline double name(double x) noexcept {                                            \
        return expression;                                                                        \
    }                                                                                             \
    extern "C" inline float name##f(float x) noexcept {                                           \
        return static_cast<float>(name(static_cast<double>(x)));                                  \
    }                                                                                             \
    inline float name(float x) noexcept {                                                         \
        return name##f(x);                                                                        \
    }

PAGED_FUNCTION(rsqrt, 1.0 / __builtin_sqrt(x))
PAGED_FUNCTION(rcbrt, 1.0 / __builtin_cbrt(x))
PAGED_FUNCTION(sinpi, paged_interpret::sine_of_half_turns(x))
PAGED_FUNCTION(cospi, paged_interpret::cosine_of_half_turns(x))
PAGED_FUNCTION(erfinv, paged_interpret::inverse_erf(x))
PAGED_FUNCTION(erfcinv, paged_interpret::inverse_erfc(x))
PAGED_FUNCTION(erfcx, paged_interpret::scaled_erfc(x))
PAGED_FUNCTION(normcdf, 0.5 * __builtin_erfc(-x * PAGED_ROOT_HALF))
PAGED_FUNCTION(cyl_bessel_i0, paged_interpret::modified_bessel(0, x))
PAGED_FUNCTION(cyl_bessel_i1, paged_interpret::modified_bessel(1, x))
PAGED_FUNCTION(normcdfinv, -paged_interpret::inverse_erfc(2.0 * x) / PAGED_ROOT_HALF)
#undef PAGED_FUNCTION
#undef PAGED_ROOT_HALF

inline float exp10(float x) {
    return ::exp10f(x);
}

// The length of a vector, and its reciprocal. Binary64 sums of squares of binary32 are exact
// enough; those of binary64 may overflow where CUDA's do not.
#define PAGED_NORM(suffix, type, parameters, squares)                                             \
    extern "C" inline type norm##suffix parameters noexcept {                                     \
        return static_cast<type>(__builtin_sqrt(squares));                                        \
    }                                                                                             \
    extern "C" inline type rnorm##suffix parameters noexcept {                                    \
        return static_cast<type>(1.0 / __builtin_sqrt(squares));                                  \
    }

PAGED_NORM(3df, float, (float x, float y, float z), 1.0 * x * x + 1.0 * y * y + 1.0 * z * z)
PAGED_NORM(4df, float, (float x, float y, float z, float w),
           1.0 * x * x + 1.0 * y * y + 1.0 * z * z + 1.0 * w * w)
PAGED_NORM(3d, double, (double x, double y, double z), x* x + y * y + z * z)
PAGED_NORM(4d, double, (double x, double y, double z, double w), x* x + y * y + z * z + w * w)
#undef PAGED_NORM

// Of vectors of any number of components.
#define PAGED_LENGTH(suffix, type)                                                                \
    extern "C" inline type norm##suffix(int num_components, const type* x) noexcept {             \
        double squares = 0.0;                                                                     \
        for (int i = 0; i < num_components; ++i) squares += 1.0 * x[i] * x[i];                    \
        return static_cast<type>(__builtin_sqrt(squares));                                        \
    }                                                                                             \
    extern "C" inline type rnorm##suffix(int num_components, const type* x) noexcept {            \
        return static_cast<type>(1.0 / norm##suffix(num_components, x));                          \
    }

PAGED_LENGTH(f, float)
PAGED_LENGTH(, double)
#undef PAGED_LENGTH

extern "C" inline float rhypotf(float x, float y) noexcept {
    return static_cast<float>(1.0 / __builtin_hypot(x, y));
}

extern "C" inline double rhypot(double x, double y) noexcept {
    return 1.0 / __builtin_hypot(x, y);
}

inline void sincospi(double x, double* sine, double* cosine) {
    *sine = sinpi(x);
    *cosine = cospi(x);
}

inline void sincospif(float x, float* sine, float* cosine) {
    *sine = sinpif(x);
    *cosine = cospif(x);
}

#define PAGED_FAST(name, exact)                                                                   \
    extern "C" inline float name(float x) noexcept {                                              \
        return exact(x);                                                                          \
    }

PAGED_FAST(__expf, __builtin_expf)
PAGED_FAST(__exp10f, ::exp10f)
PAGED_FAST(__logf, __builtin_logf)
PAGED_FAST(__log2f, __builtin_log2f)
PAGED_FAST(__log10f, __builtin_log10f)
PAGED_FAST(__sinf, __builtin_sinf)
PAGED_FAST(__cosf, __builtin_cosf)
PAGED_FAST(__tanf, __builtin_tanf)
PAGED_FAST(__tanhf, __builtin_tanhf)
#undef PAGED_FAST

extern "C" inline float __powf(float x, float y) noexcept {
    return __builtin_powf(x, y);
}

extern "C" inline void __sincosf(float x, float* sine, float* cosine) noexcept {
    *sine = __builtin_sinf(x);
    *cosine = __builtin_cosf(x);
}

inline float __fdividef(float x, float y) {
    return x / y;
}

inline float fdividef(float x, float y) {
    return x / y;
}

inline double fdivide(double x, double y) {
    return x / y;
}

// To [0, 1]; NaN becomes zero.
inline float __saturatef(float x) {
    return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f;
}
