// Correct rounding of any number to a binary format of few bits, in every rounding mode.
//
// A finite magnitude is encoded as (exponent field << mantissa bits) | mantissa. The codes of a
// format grow with the magnitude, so that rounding up is adding one, also across exponents and
// from subnormals to normals, and that what lies above the largest finite code is overflow.
#pragma once

#include "bits.h"

namespace paged_interpret {

enum class Rounding { kNearestEven, kTowardZero, kDown, kUp };

// The number (negative ? -1 : 1) * significand * 2^exponent.
struct Unpacked {
    bool negative;
    unsigned long long significand;
    int exponent;
};

inline Unpacked unpack(double finite) {
    constexpr int kMantissaBits = 52;
    constexpr int kMinExponent = -1074;
    const auto bits = bit_cast<unsigned long long>(finite);
    const int field = static_cast<int>(bits >> kMantissaBits) & 0x7FF;
    const unsigned long long mantissa = bits & ((1ull << kMantissaBits) - 1);
    const unsigned long long implicit_one = field == 0 ? 0 : 1ull << kMantissaBits;
    return {bits >> 63 != 0, mantissa | implicit_one, kMinExponent + (field == 0 ? 0 : field - 1)};
}

inline Unpacked unpack(long long value) {
    const auto bits = static_cast<unsigned long long>(value);
    return {value < 0, value < 0 ? 0 - bits : bits, 0};
}

inline Unpacked unpack(unsigned long long value) {
    return {false, value, 0};
}

inline bool rounds_away(Rounding mode, bool negative, bool is_odd, int remainder_to_half) {
    switch (mode) {
        case Rounding::kNearestEven:
            return remainder_to_half > 0 || (remainder_to_half == 0 && is_odd);
        case Rounding::kDown:
            return negative;
        case Rounding::kUp:
            return !negative;
        case Rounding::kTowardZero:
            break;
    }
    return false;
}

// The code of a magnitude in a format with an unbounded exponent field: callers check overflow.
// min_exponent is the exponent of the smallest normal number.
inline int round_magnitude(Unpacked number, int mantissa_bits, int min_exponent, Rounding mode) {
    if (number.significand == 0) return 0;
    const int width = 64 - __builtin_clzll(number.significand);
    const int top = number.exponent + width - 1;
    const int exponent = top < min_exponent ? min_exponent : top;
    const int shift = exponent - mantissa_bits - number.exponent;
    const int code = (exponent - min_exponent) << mantissa_bits;
    if (shift <= 0) return code + static_cast<int>(number.significand << -shift);

    // A significand has 64 bits: shifted by more, it stays below half of the last place.
    constexpr int kMaxShift = 66;
    const int bounded = shift > kMaxShift ? kMaxShift : shift;
    const auto wide = static_cast<unsigned __int128>(number.significand);
    const int kept = static_cast<int>(wide >> bounded);
    const auto remainder = wide - (static_cast<unsigned __int128>(kept) << bounded);
    if (remainder == 0) return code + kept;
    const auto half = static_cast<unsigned __int128>(1) << (bounded - 1);
    const int to_half = remainder > half ? 1 : remainder == half ? 0 : -1;
    return code + kept + rounds_away(mode, number.negative, kept & 1, to_half);
}

// a + b in double, rounded to odd: a later rounding to fewer bits then rounds the exact sum.
inline double add_to_odd(double a, double b) {
    const double sum = a + b;
    const double b_part = sum - a;
    const double error = (a - (sum - b_part)) + (b - b_part);
    const auto bits = bit_cast<long long>(sum);
    if (!(error < 0 || error > 0) || (bits & 1)) return sum;
    const bool grows = (error > 0) == (sum > 0);
    return bit_cast<double>(bits + (grows ? 1 : -1));
}

}  // namespace paged_interpret
