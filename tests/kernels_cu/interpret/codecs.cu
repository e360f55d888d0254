// Interpreter only: conversions by instructions against those by bits, and of eight numbers at once
// against those of one. out[0] counts differences.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using namespace paged_interpret;

template <Rounding mode>
unsigned differences(float value) {
    return HalfCodec::encode<mode>(value) !=
           HalfCodec::encode_exact(static_cast<double>(value), mode);
}

template <class Codec>
unsigned differences_of_eight(unsigned short first) {
    unsigned short codes[8];
    for (int i = 0; i < 8; ++i) codes[i] = static_cast<unsigned short>(first + 8191 * i);
    const Floats8 numbers = Codec::decode_eight(codes);
    unsigned count = 0;
    for (int i = 0; i < 8; ++i) {
        const float number = numbers[i], expected = Codec::decode(codes[i]);
        count += bit_cast<unsigned>(number) != bit_cast<unsigned>(expected);
    }
    return count;
}

extern "C" __global__ void count_differences(const float* in, unsigned* out, int n) {
    unsigned count = 0;
    for (int i = 0; i < n; ++i) {
        count += differences<Rounding::kNearestEven>(in[i]);
        count += differences<Rounding::kTowardZero>(in[i]);
        count += differences<Rounding::kDown>(in[i]);
        count += differences<Rounding::kUp>(in[i]);
    }
    for (int code = 0; code < 1 << 16; ++code) {
        const float a = HalfCodec::decode(static_cast<unsigned short>(code));
        const float b = HalfCodec::decode_by_bits(static_cast<unsigned short>(code));
        const bool is_nan = (code & 0x7FFF) > HalfCodec::kInfinity;
        count += is_nan ? a == a || b == b : bit_cast<unsigned>(a) != bit_cast<unsigned>(b);
        count += differences_of_eight<HalfCodec>(static_cast<unsigned short>(code));
        count += differences_of_eight<Bfloat16Codec>(static_cast<unsigned short>(code));
    }
    out[0] = count;
}
