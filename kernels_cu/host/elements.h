// Numbers as tensors hold them: how they become floats, and floats become them.
//
// Rounding is to nearest even. load reads kLanes of them that lie side by side.
#pragma once
#include <cmath>
#include <limits>

#include "host_records.h"
#include "vec.h"

namespace paged_host {

struct Float32 {
    using Storage = float;
    static PAGED_INLINE Vec load(const Storage* from) { return paged_host::load<Vec>(from); }
    static PAGED_INLINE float to_float(Storage stored) { return stored; }
    static PAGED_INLINE Storage from_float(float value) { return value; }
};

struct Bfloat16 {
    using Storage = uint16_t;
    static PAGED_INLINE Vec load(const Storage* from) {
        return from_bfloat16(paged_host::load<HalfWordVec>(from));
    }
    static PAGED_INLINE float to_float(Storage stored) { return from_bfloat16(stored); }
    static PAGED_INLINE Storage from_float(float value) {
        constexpr uint16_t kNaN = 0x7fc0;
        if (std::isnan(value)) return kNaN;
        const auto bits = bit_cast<uint32_t>(value);
        return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
};

struct Float16 {
    using Storage = uint16_t;
    static PAGED_INLINE float to_float(Storage stored) {
        return static_cast<float>(bit_cast<_Float16>(stored));
    }
    static PAGED_INLINE Storage from_float(float value) {
        return bit_cast<Storage>(static_cast<_Float16>(value));
    }
    static PAGED_INLINE Vec load(const Storage* from) {
#if defined(__AVX512F__) && PAGED_HOST_LANES == 16
        return _mm512_cvtph_ps(paged_host::load<__m256i>(from));
#elif defined(__F16C__) && PAGED_HOST_LANES == 8
        return _mm256_cvtph_ps(paged_host::load<__m128i>(from));
#else
        Vec value;
        for (int i = 0; i < kLanes; ++i) value[i] = to_float(from[i]);
        return value;
#endif
    }
};

// 4 bits of exponent, 3 of mantissa, no infinity: 0x7f is NaN.
struct Float8E4m3 {
    using Storage = uint8_t;
    static constexpr float kLargest = 448.0f;

    static PAGED_INLINE Vec load(const Storage* from) {
        constexpr int kMagnitude = 0x7f, kMantissaShift = 20, kSignShift = 24;
        const IntVec bits = widen(paged_host::load<ByteVec>(from));
        const IntVec magnitude = bits & kMagnitude;
        // The exponents' biases differ by 120, of subnormal numbers too.
        const Vec value = bit_cast<Vec>(magnitude << kMantissaShift) * 0x1p120f;
        const IntVec sign = (bits & ~kMagnitude) << kSignShift;
        const IntVec nan = (magnitude == kMagnitude) & 0x7fc00000;
        return bit_cast<Vec>(bit_cast<IntVec>(value) | sign | nan);
    }
    static PAGED_INLINE float to_float(Storage stored) {
        if ((stored & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
        const float value = bit_cast<float>(uint32_t{stored & 0x7fu} << 20) * 0x1p120f;
        return (stored & 0x80) != 0 ? -value : value;
    }
    // Beyond the largest number is the largest number.
    static PAGED_INLINE Storage from_float(float value) {
        const auto sign = static_cast<Storage>(std::signbit(value) ? 0x80 : 0);
        if (std::isnan(value)) return sign | 0x7f;
        const float magnitude = std::fmin(std::fabs(value), kLargest);
        if (magnitude < 0x1p-6f) {
            // Subnormal: multiples of 2^-9, which is the last place of 2^14.
            const auto bits = bit_cast<uint32_t>(magnitude + 0x1p14f);
            return static_cast<Storage>(sign | (bits - bit_cast<uint32_t>(0x1p14f)));
        }
        constexpr uint32_t kBiasDifference = 120u << 3;
        const auto bits = bit_cast<uint32_t>(magnitude);
        const uint32_t rounded = (bits + 0x7ffff + ((bits >> 20) & 1)) >> 20;
        return static_cast<Storage>(sign | (rounded - kBiasDifference));
    }
};

// Calls body with the type of a float of 16 or 32 bits as a value: body(Float16{}) and so on.
template <typename Body>
void with_float(Element type, Body&& body) {
    switch (type) {
        case Element::k_float16: return body(Float16{});
        case Element::k_bfloat16: return body(Bfloat16{});
        default: return body(Float32{});
    }
}

// The same with what a pool may hold besides.
template <typename Body>
void with_element(Element type, Body&& body) {
    if (type == Element::k_float8_e4m3fn) return body(Float8E4m3{});
    with_float(type, body);
}

// The first num numbers as floats, then zeros up to a multiple of kLanes.
template <typename Type>
PAGED_INLINE void to_floats(const typename Type::Storage* from, int64_t stride, int64_t num,
                            float* to) {
    int64_t i = 0;
    if (stride == 1) {
        for (; i + kLanes <= num; i += kLanes) store(to + i, Type::load(from + i));
    }
    for (; i < num; ++i) to[i] = Type::to_float(from[i * stride]);
    for (; i % kLanes != 0; ++i) to[i] = 0.0f;
}

}  // namespace paged_host
