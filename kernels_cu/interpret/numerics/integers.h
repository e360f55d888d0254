// Floating point to integer as the device does it: saturating. NaN becomes zero, and the lowest
// signed value (as bits) where the integer has 64 bits.
#pragma once

#include "rounding.h"

namespace paged_interpret {

inline float round_to_whole(float value, Rounding mode) {
    switch (mode) {
        case Rounding::kNearestEven:
            return __builtin_nearbyintf(value);
        case Rounding::kDown:
            return __builtin_floorf(value);
        case Rounding::kUp:
            return __builtin_ceilf(value);
        case Rounding::kTowardZero:
            break;
    }
    return __builtin_truncf(value);
}

inline double round_to_whole(double value, Rounding mode) {
    switch (mode) {
        case Rounding::kNearestEven:
            return __builtin_nearbyint(value);
        case Rounding::kDown:
            return __builtin_floor(value);
        case Rounding::kUp:
            return __builtin_ceil(value);
        case Rounding::kTowardZero:
            break;
    }
    return __builtin_trunc(value);
}

template <class Integer, class Float>
inline Integer to_integer(Float value, Rounding mode) {
    constexpr bool is_signed = static_cast<Integer>(-1) < static_cast<Integer>(0);
    constexpr int value_bits = static_cast<int>(8 * sizeof(Integer)) - (is_signed ? 1 : 0);
    constexpr auto top = static_cast<Integer>(1ull << (8 * sizeof(Integer) - 1));
    constexpr Integer lowest = is_signed ? top : 0;
    constexpr auto highest = static_cast<Integer>(~(is_signed ? top : Integer{0}));
    constexpr Float limit = static_cast<Float>(1ull << (value_bits - 1)) * Float{2};
    if (value != value) return sizeof(Integer) == 8 ? top : Integer{0};
    const Float whole = round_to_whole(value, mode);
    if (whole >= limit) return highest;
    if (whole <= (is_signed ? -limit : Float{0})) return lowest;
    return static_cast<Integer>(whole);
}

}  // namespace paged_interpret
