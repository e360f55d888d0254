// Rows of floats as integers of 16 bits, with a scale for each panel of kPanelInputs.
//
// A scale is a power of 2. So a panel keeps 15 bits below its largest value, which is more than a
// bfloat16 has, and what is multiplied by a scale is not rounded again: results are the same at every
// instruction set, with a fused multiply-add or without.
#pragma once
#include <limits>

#include "host_records.h"
#include "pool.h"
#include "vec_math.h"

namespace paged_host {

constexpr int64_t kLeastRoundedElements = 1 << 14;
constexpr int32_t kMagnitudeBits = 0x7fffffff, kNotFinite = 0xff << kMantissaBits;
// Bits of the integers without their sign, less the one before the point.
constexpr int32_t kFractionBits = 14;

PAGED_INLINE IntVec magnitudes(Vec x) { return bit_cast<IntVec>(x) & kMagnitudeBits; }

// The bits of the largest magnitude, of NaN where there is one.
inline int32_t largest_magnitude(const float* x, int64_t num) {
    IntVec most{};
    int64_t i = 0;
    for (; i + kLanes <= num; i += kLanes) {
        const IntVec bits = magnitudes(load<Vec>(x + i));
        most = bits > most ? bits : most;
    }
    const IntVec bits = magnitudes(load_some(x + i, num - i));
    most = bits > most ? bits : most;
    int32_t largest = 0;
    for (int lane = 0; lane < kLanes; ++lane) largest = most[lane] > largest ? most[lane] : largest;
    return largest;
}

PAGED_INLINE ShortVec rounded(Vec scaled) {
    const Vec shifted = scaled + kRounder;
    const IntVec integers = bit_cast<IntVec>(shifted) - bit_cast<IntVec>(broadcast(kRounder));
    const IntVec largest = IntVec{} + INT16_MAX;
    return __builtin_convertvector(integers > largest ? largest : integers, ShortVec);
}

// Rounds the inputs of a panel, and fills them up with zeros. With one that is infinite or NaN the
// scale is NaN, and so is every product with the row.
inline void round_panel(const float* x, int64_t num, int64_t padded, int16_t* integers,
                        float* scale) {
    const int32_t largest = largest_magnitude(x, num);
    // so that both the scale and its inverse have a full mantissa: what is smaller counts as 0
    constexpr int32_t kLeastExponent = kFractionBits + 1;
    const int32_t own = largest >> kMantissaBits;
    const int32_t exponent = own < kLeastExponent ? kLeastExponent : own;
    const auto inverse =
        bit_cast<float>((2 * kExponentBias + kFractionBits - exponent) << kMantissaBits);
    *scale = largest >= kNotFinite ? std::numeric_limits<float>::quiet_NaN()
                                   : bit_cast<float>((exponent - kFractionBits) << kMantissaBits);
    int64_t i = 0;
    for (; i + kLanes <= num; i += kLanes) store(integers + i, rounded(load<Vec>(x + i) * inverse));
    const ShortVec last = rounded(load_some(x + i, num - i) * inverse);
    std::memcpy(integers + i, &last, static_cast<size_t>(padded - i) * sizeof(int16_t));
}

// Shapes: x [num_rows][in_features], row_integers [num_rows][padded], row_scales
// [num_rows][panels].
inline void round_rows(const LinearRecord& a, int64_t padded, int num_threads) {
    const int64_t num_panels = ceil_div(a.in_features, kPanelInputs);
    const int64_t least = items_of(kLeastRoundedElements, a.in_features);
    parallel_for(num_threads, a.num_rows, chunk_of(num_threads, a.num_rows, least),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t item = begin * num_panels; item < end * num_panels; ++item) {
                         const int64_t row = item / num_panels, panel = item % num_panels;
                         const int64_t at = panel * kPanelInputs;
                         const int64_t rest = a.in_features - at, fill = padded - at;
                         round_panel(a.x + row * a.in_features + at,
                                     rest < kPanelInputs ? rest : kPanelInputs,
                                     fill < kPanelInputs ? fill : kPanelInputs,
                                     a.row_integers + row * padded + at, a.row_scales + item);
                     }
                 });
}

}  // namespace paged_host
