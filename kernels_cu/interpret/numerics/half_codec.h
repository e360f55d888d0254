// IEEE binary16: one sign bit, five exponent bits, ten mantissa bits.
//
// NaN encodes as 0x7FFF, as on the device. With F16C one instruction converts; without it the
// same results come from integer arithmetic.
#pragma once

#include "floats8.h"
#include "rounding.h"

namespace paged_interpret {

struct HalfCodec {
    static constexpr int kMantissaBits = 10;
    static constexpr int kMinExponent = -14;
    static constexpr int kMaxFinite = 0x7BFF;
    static constexpr int kInfinity = 0x7C00;
    static constexpr unsigned short kNan = 0x7FFF;

    template <class Number>
    static unsigned short encode_exact(Number number, Rounding mode);

    template <Rounding mode = Rounding::kNearestEven>
    static unsigned short encode(float value);

    static float decode(unsigned short bits);
    static Floats8 decode_eight(const unsigned short* bits);

    // Without instructions for it.
    static float decode_by_bits(unsigned short bits) {
        constexpr float kRebias = 0x1p112f;  // 2^(127 - 15), exact for subnormals as well
        const unsigned sign = (bits & 0x8000u) << 16;
        const unsigned magnitude = bits & 0x7FFFu;
        const auto wide = bit_cast<unsigned>(bit_cast<float>(magnitude << 13) * kRebias);
        const unsigned special = magnitude >= kInfinity ? 0x7F800000u : 0u;
        return bit_cast<float>(sign | wide | special);
    }
};

// The code of a number that is not NaN: what all formats with an infinity share.
template <class Codec>
inline unsigned short encode_unpacked(Unpacked number, Rounding mode) {
    const unsigned sign = number.negative ? 0x8000u : 0u;
    int code = round_magnitude(number, Codec::kMantissaBits, Codec::kMinExponent, mode);
    if (code > Codec::kMaxFinite) {
        const bool away = rounds_away(mode, number.negative, true, 0);
        code = away ? Codec::kInfinity : Codec::kMaxFinite;
    }
    return static_cast<unsigned short>(sign | static_cast<unsigned>(code));
}

template <class Codec>
inline unsigned short encode_number(double value, Rounding mode) {
    if (value != value) return Codec::kNan;
    if (__builtin_isinf(value)) {
        return static_cast<unsigned short>(Codec::kInfinity | (value < 0 ? 0x8000 : 0));
    }
    return encode_unpacked<Codec>(unpack(value), mode);
}

template <class Codec>
inline unsigned short encode_number(long long value, Rounding mode) {
    return encode_unpacked<Codec>(unpack(value), mode);
}

template <class Codec>
inline unsigned short encode_number(unsigned long long value, Rounding mode) {
    return encode_unpacked<Codec>(unpack(value), mode);
}

template <class Number>
inline unsigned short HalfCodec::encode_exact(Number number, Rounding mode) {
    return encode_number<HalfCodec>(number, mode);
}

#ifdef __F16C__

template <Rounding mode>
inline unsigned short HalfCodec::encode(float value) {
    if (value != value) return kNan;
    // The instruction's rounding field: nearest, down, up, toward zero.
    constexpr int kField = mode == Rounding::kNearestEven ? 0
                           : mode == Rounding::kDown      ? 1
                           : mode == Rounding::kUp        ? 2
                                                          : 3;
    typedef float Floats __attribute__((vector_size(16)));
    const Floats lanes = {value, 0.0f, 0.0f, 0.0f};
    return static_cast<unsigned short>(__builtin_ia32_vcvtps2ph(lanes, kField)[0]);
}

inline float HalfCodec::decode(unsigned short bits) {
    typedef short Shorts __attribute__((vector_size(16)));
    const Shorts lanes = {static_cast<short>(bits)};
    return __builtin_ia32_vcvtph2ps(lanes)[0];
}

inline Floats8 HalfCodec::decode_eight(const unsigned short* bits) {
    typedef short Shorts8 __attribute__((vector_size(16)));
    Shorts8 codes;
    __builtin_memcpy(&codes, bits, sizeof codes);
    return __builtin_ia32_vcvtph2ps256(codes);
}

#else

template <Rounding mode>
inline unsigned short HalfCodec::encode(float value) {
    return encode_exact(static_cast<double>(value), mode);
}

inline float HalfCodec::decode(unsigned short bits) {
    return decode_by_bits(bits);
}

inline Floats8 HalfCodec::decode_eight(const unsigned short* bits) {
    Floats8 numbers;
    for (int i = 0; i < 8; ++i) numbers[i] = decode_by_bits(bits[i]);
    return numbers;
}

#endif

}  // namespace paged_interpret
