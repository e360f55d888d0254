// bfloat16: the upper half of a binary32. NaN encodes as 0x7FFF, as on the device.
#pragma once

#include "half_codec.h"

namespace paged_interpret {

struct Bfloat16Codec {
    static constexpr int kMantissaBits = 7;
    static constexpr int kMinExponent = -126;
    static constexpr int kMaxFinite = 0x7F7F;
    static constexpr int kInfinity = 0x7F80;
    static constexpr unsigned short kNan = 0x7FFF;

    template <class Number>
    static unsigned short encode_exact(Number number, Rounding mode) {
        return encode_number<Bfloat16Codec>(number, mode);
    }

    template <Rounding mode = Rounding::kNearestEven>
    static unsigned short encode(float value) {
        if (mode != Rounding::kNearestEven) return encode_exact(static_cast<double>(value), mode);
        if (value != value) return kNan;
        const auto bits = bit_cast<unsigned>(value);
        const unsigned nearest = 0x7FFFu + ((bits >> 16) & 1u);  // ties to even
        return static_cast<unsigned short>((bits + nearest) >> 16);
    }

    static float decode(unsigned short bits) {
        return bit_cast<float>(static_cast<unsigned>(bits) << 16);
    }

    static Floats8 decode_eight(const unsigned short* bits) {
        typedef unsigned short Codes8 __attribute__((vector_size(16)));
        typedef unsigned Words8 __attribute__((vector_size(32)));
        Codes8 codes;
        __builtin_memcpy(&codes, bits, sizeof codes);
        return bit_cast<Floats8>(__builtin_convertvector(codes, Words8) << 16);
    }
};

}  // namespace paged_interpret
