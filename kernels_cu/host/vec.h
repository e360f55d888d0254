// Vectors of floats, as wide as the instruction set this library is built for: PAGED_HOST_LANES.
//
// Arithmetic is that of the compiler's vector types. Only what they leave open is here: a fused
// multiply-add, and conversions. Nothing else is fused (-ffp-contract=off), so that a row's result
// cannot depend on how the compiler treats one instance of a loop.
#pragma once
#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace paged_host {

constexpr int kLanes = PAGED_HOST_LANES;
static_assert(kLanes == 4 || kLanes == 8 || kLanes == 16, "128, 256 or 512 bits");

using Vec = float __attribute__((vector_size(4 * kLanes)));
using IntVec = int32_t __attribute__((vector_size(4 * kLanes)));
using UintVec = uint32_t __attribute__((vector_size(4 * kLanes)));
using ByteVec = int8_t __attribute__((vector_size(kLanes)));
using HalfWordVec = uint16_t __attribute__((vector_size(2 * kLanes)));
using ShortVec = int16_t __attribute__((vector_size(2 * kLanes)));
using TwoShortVecs = int16_t __attribute__((vector_size(4 * kLanes)));
using TwoByteVecs = int8_t __attribute__((vector_size(2 * kLanes)));

#define PAGED_INLINE inline __attribute__((always_inline))

template <typename T>
PAGED_INLINE T load(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <typename T>
PAGED_INLINE void store(void* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

template <typename To, typename From>
PAGED_INLINE To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits under another type");
    return load<To>(&from);
}

// careful: adding 0 would be an instruction, for it makes -0 of -0 into 0
PAGED_INLINE Vec broadcast(float value) { return value - Vec{}; }

// a * b + c, rounded once where the level has such an instruction.
PAGED_INLINE Vec fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__) && PAGED_HOST_LANES == 16
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__) && PAGED_HOST_LANES == 8
    return _mm256_fmadd_ps(a, b, c);
#elif defined(__FMA__)
    for (int i = 0; i < kLanes; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}

PAGED_INLINE float fma(float a, float b, float c) {
#if defined(__FMA__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

// The larger of each two; the second where either is NaN.
PAGED_INLINE Vec max(Vec a, Vec b) {
#if defined(__AVX512F__) && PAGED_HOST_LANES == 16
    return _mm512_max_ps(a, b);
#elif defined(__AVX__) && PAGED_HOST_LANES == 8
    return _mm256_max_ps(a, b);
#elif PAGED_HOST_LANES == 4
    return _mm_max_ps(a, b);
#else
    return a > b ? a : b;
#endif
}

// Has a vector in a register from here on: g++ would rather read it from memory at each use, and
// run out of ports to load by.
template <typename Value>
PAGED_INLINE void hold(Value& value) {
    static_assert(sizeof(Value) == sizeof(Vec), "of a vector register");
#if defined(__AVX512F__) && PAGED_HOST_LANES == 16
    asm("" : "+v"(value));
#elif defined(__AVX__) && PAGED_HOST_LANES == 8
    asm("" : "+x"(value));
#endif
}

// Sum of the lanes: halves onto each other, so that the order is fixed.
PAGED_INLINE float sum_lanes(Vec value) {
    float lanes[kLanes];
    store(lanes, value);
    for (int half = kLanes / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
}

// Bytes with their sign, and half words without one, as integers of 32 bits. g++ would convert a
// vector one by one.
#if defined(__AVX512F__) && PAGED_HOST_LANES == 16
PAGED_INLINE IntVec widen(ByteVec bytes) {
    return bit_cast<IntVec>(_mm512_cvtepi8_epi32(bit_cast<__m128i>(bytes)));
}
PAGED_INLINE IntVec widen(HalfWordVec words) {
    return bit_cast<IntVec>(_mm512_cvtepu16_epi32(bit_cast<__m256i>(words)));
}
#elif defined(__AVX2__) && PAGED_HOST_LANES == 8
PAGED_INLINE IntVec widen(ByteVec bytes) {
    const __m128i low = _mm_cvtsi64_si128(bit_cast<long long>(bytes));
    return bit_cast<IntVec>(_mm256_cvtepi8_epi32(low));
}
PAGED_INLINE IntVec widen(HalfWordVec words) {
    return bit_cast<IntVec>(_mm256_cvtepu16_epi32(bit_cast<__m128i>(words)));
}
#elif defined(__SSE4_1__) && PAGED_HOST_LANES == 4
PAGED_INLINE IntVec widen(ByteVec bytes) {
    return bit_cast<IntVec>(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(bit_cast<int>(bytes))));
}
PAGED_INLINE IntVec widen(HalfWordVec words) {
    const __m128i low = _mm_cvtsi64_si128(bit_cast<long long>(words));
    return bit_cast<IntVec>(_mm_cvtepu16_epi32(low));
}
#else
PAGED_INLINE IntVec widen(ByteVec bytes) { return __builtin_convertvector(bytes, IntVec); }
PAGED_INLINE IntVec widen(HalfWordVec words) { return __builtin_convertvector(words, IntVec); }
#endif

PAGED_INLINE float from_bfloat16(uint16_t bits) {
    return bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

PAGED_INLINE Vec from_bfloat16(HalfWordVec bits) {
    return bit_cast<Vec>(bit_cast<UintVec>(widen(bits)) << 16);
}

// Two bfloat16 side by side in each 32 bits: the lower ones, and the upper ones.
PAGED_INLINE Vec lower_bfloat16(UintVec pairs) { return bit_cast<Vec>(pairs << 16); }
PAGED_INLINE Vec upper_bfloat16(UintVec pairs) { return bit_cast<Vec>(pairs & 0xffff0000u); }

// Bytes with their sign, from memory, as integers of 16 bits: two side by side in each 32 bits.
PAGED_INLINE IntVec load_pairs(const int8_t* from) {
#if defined(__AVX512BW__) && PAGED_HOST_LANES == 16
    return bit_cast<IntVec>(_mm512_cvtepi8_epi16(load<__m256i>(from)));
#elif defined(__AVX2__) && PAGED_HOST_LANES == 8
    return bit_cast<IntVec>(_mm256_cvtepi8_epi16(load<__m128i>(from)));
#elif defined(__SSE4_1__) && PAGED_HOST_LANES == 4
    return bit_cast<IntVec>(_mm_cvtepi8_epi16(_mm_cvtsi64_si128(load<long long>(from))));
#else
    return bit_cast<IntVec>(__builtin_convertvector(load<TwoByteVecs>(from), TwoShortVecs));
#endif
}

// In each 32 bits the products of two pairs of 16 bits, added.
PAGED_INLINE IntVec dot_pairs(IntVec a, IntVec b) {
#if defined(__AVX512BW__) && PAGED_HOST_LANES == 16
    return bit_cast<IntVec>(_mm512_madd_epi16(bit_cast<__m512i>(a), bit_cast<__m512i>(b)));
#elif defined(__AVX2__) && PAGED_HOST_LANES == 8
    return bit_cast<IntVec>(_mm256_madd_epi16(bit_cast<__m256i>(a), bit_cast<__m256i>(b)));
#elif PAGED_HOST_LANES == 4
    return bit_cast<IntVec>(_mm_madd_epi16(bit_cast<__m128i>(a), bit_cast<__m128i>(b)));
#else
    return (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

// The first num lanes, which may be none, from memory; the others are 0.
PAGED_INLINE Vec load_some(const float* from, int64_t num) {
    Vec value{};
    std::memcpy(&value, from, static_cast<size_t>(num) * sizeof(float));
    return value;
}

PAGED_INLINE void store_some(float* to, Vec value, int64_t num) {
    std::memcpy(to, &value, static_cast<size_t>(num) * sizeof(float));
}

}  // namespace paged_host
