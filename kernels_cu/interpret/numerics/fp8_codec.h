// Eight-bit floating point: E4M3 (no infinity, one NaN a sign, largest 448) and E5M2 (as IEEE).
#pragma once

#include "half_codec.h"

namespace paged_interpret {

struct E4m3Codec {
    static constexpr int kMantissaBits = 3;
    static constexpr int kMinExponent = -6;
    static constexpr int kMaxFinite = 0x7E;
    static constexpr int kOverflow = 0x7F;  // NaN

    static float decode(unsigned char bits) {
        constexpr float kRebias = 0x1p120f;  // 2^(127 - 7), exact for subnormals as well
        const unsigned sign = (bits & 0x80u) << 24;
        const unsigned magnitude = bits & 0x7Fu;
        const auto wide = bit_cast<unsigned>(bit_cast<float>(magnitude << 20) * kRebias);
        return bit_cast<float>(sign | (magnitude == kOverflow ? 0x7FFFFFFFu : wide));
    }
};

struct E5m2Codec {
    static constexpr int kMantissaBits = 2;
    static constexpr int kMinExponent = -14;
    static constexpr int kMaxFinite = 0x7B;
    static constexpr int kOverflow = 0x7C;  // infinity

    static float decode(unsigned char bits) {
        return HalfCodec::decode(static_cast<unsigned short>(bits << 8));
    }
};

// To nearest even; what rounds above the largest finite number becomes that, where saturating.
template <class Codec>
inline unsigned char encode_fp8(double value, bool is_saturating) {
    constexpr unsigned char kNan = 0x7F;
    if (value != value) return kNan;
    const unsigned sign = __builtin_signbit(value) ? 0x80u : 0u;
    int code = Codec::kMaxFinite + 1;
    if (!__builtin_isinf(value)) {
        const Unpacked number = unpack(value);
        constexpr auto mode = Rounding::kNearestEven;
        code = round_magnitude(number, Codec::kMantissaBits, Codec::kMinExponent, mode);
    }
    if (code > Codec::kMaxFinite) code = is_saturating ? Codec::kMaxFinite : Codec::kOverflow;
    return static_cast<unsigned char>(sign | static_cast<unsigned>(code));
}

}  // namespace paged_interpret
