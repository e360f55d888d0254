// Functions of vectors of floats.
#pragma once
#include <limits>

#include "vec.h"

namespace paged_host {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// e^x as a number near 1 and a power of 2, whose exponent is in the low bits of `power`.
struct Exponential {
    Vec fraction;
    IntVec power;
};

// Its last place is 1, so that adding it rounds to an integer.
constexpr float kRounder = 12582912.0f;
constexpr int kExponentBias = 127, kMantissaBits = 23;

// Of an x whose power is that of a float, or NaN.
PAGED_INLINE Exponential exponential(Vec x) {
    constexpr float kLog2E = 1.44269504088896340736f;
    // ln 2 in two parts: multiples of the first, of 9 bits, are exact
    constexpr float kLn2High = 0.693359375f;
    constexpr float kLn2Low = -2.12194440054690583e-4f;
    const Vec shifted = fma(x, broadcast(kLog2E), broadcast(kRounder));
    const Vec power = shifted - kRounder;
    Vec rest = fma(power, broadcast(-kLn2High), x);
    rest = fma(power, broadcast(-kLn2Low), rest);
    // Taylor's series: |rest| <= ln(2) / 2, where the first term left out is below 2^-27
    constexpr float kTerms[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
    Vec sum = broadcast(1.0f / 5040);
    for (float term : kTerms) sum = fma(sum, rest, broadcast(term));
    return Exponential{sum, bit_cast<IntVec>(shifted)};
}

// e^x, to about one unit in the last place; 0 and infinity where a float can hold no better, and
// NaN of NaN.
PAGED_INLINE Vec exp(Vec x) {
    constexpr float kLargest = 88.8f, kSmallest = -104.0f;
    const Vec limited = x > kLargest ? broadcast(kLargest)
                                     : (x < kSmallest ? broadcast(kSmallest) : x);
    const Exponential parts = exponential(limited);
    // 2^power in two factors, for it may be out of the range of a float where the result is not
    const IntVec whole = parts.power - bit_cast<IntVec>(broadcast(kRounder));
    const IntVec half = whole >> 1;
    const Vec first = bit_cast<Vec>((half + kExponentBias) << kMantissaBits);
    const Vec second = bit_cast<Vec>((whole - half + kExponentBias) << kMantissaBits);
    return parts.fraction * first * second;
}

// The same of x <= 0 or NaN, in fewer steps; 0 where it would have fewer bits than a float has.
PAGED_INLINE Vec exp_of_negative(Vec x) {
    constexpr float kSmallest = -87.3f;
    const Exponential parts = exponential(max(broadcast(kSmallest), x));
    // the bits of kRounder are shifted out
    const IntVec power = (parts.power << kMantissaBits) + (kExponentBias << kMantissaBits);
    return x < kSmallest ? Vec{} : parts.fraction * bit_cast<Vec>(power);
}

}  // namespace paged_host
