// Functions of vectors of floats.
#pragma once
#include <limits>

#include "vec.h"

namespace paged_host {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// e^x, to about one unit in the last place; 0 and infinity where a float can hold no better, and
// NaN of NaN.
PAGED_INLINE Vec exp(Vec x) {
    constexpr float kLog2E = 1.44269504088896340736f;
    // ln 2 in two parts: multiples of the first, of 9 bits, are exact
    constexpr float kLn2High = 0.693359375f;
    constexpr float kLn2Low = -2.12194440054690583e-4f;
    // its last place is 1, so that adding it rounds to an integer
    constexpr float kRounder = 12582912.0f;
    constexpr float kLargest = 88.8f, kSmallest = -104.0f;
    const Vec limited = x > kLargest ? broadcast(kLargest)
                                     : (x < kSmallest ? broadcast(kSmallest) : x);
    const Vec shifted = fma(limited, broadcast(kLog2E), broadcast(kRounder));
    const Vec power = shifted - kRounder;
    Vec rest = fma(power, broadcast(-kLn2High), limited);
    rest = fma(power, broadcast(-kLn2Low), rest);
    // Taylor's series: |rest| <= ln(2) / 2, where the first term left out is below 2^-27
    constexpr float kTerms[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
    Vec sum = broadcast(1.0f / 5040);
    for (float term : kTerms) sum = fma(sum, rest, broadcast(term));
    // 2^power in two factors, for it may be out of the range of a float where the result is not
    const IntVec whole = bit_cast<IntVec>(shifted) - bit_cast<IntVec>(broadcast(kRounder));
    const IntVec half = whole >> 1;
    constexpr int kBias = 127, kMantissaBits = 23;
    const Vec first = bit_cast<Vec>((half + kBias) << kMantissaBits);
    const Vec second = bit_cast<Vec>((whole - half + kBias) << kMantissaBits);
    return sum * first * second;
}

}  // namespace paged_host
