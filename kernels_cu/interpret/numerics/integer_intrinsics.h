// CUDA's integer intrinsics on whole words: bits, bytes, wide products, dot products.
#pragma once

#include "../include/vector_types.h"
#include "bits.h"

inline int __clz(int a) {
    return a == 0 ? 32 : __builtin_clz(static_cast<unsigned>(a));
}

inline int __clzll(long long a) {
    return a == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(a));
}

inline int __ffs(int a) {
    return __builtin_ffs(a);
}

inline int __ffsll(long long a) {
    return __builtin_ffsll(a);
}

inline int __popc(unsigned int a) {
    return __builtin_popcount(a);
}

inline int __popcll(unsigned long long a) {
    return __builtin_popcountll(a);
}

inline unsigned long long __brevll(unsigned long long a) {
    unsigned long long reversed = 0;
    for (int bit = 0; bit < 64; ++bit) reversed |= (a >> bit & 1) << (63 - bit);
    return reversed;
}

inline unsigned int __brev(unsigned int a) {
    return static_cast<unsigned>(__brevll(a) >> 32);
}

inline unsigned short __nv_bswap16(unsigned short a) {
    return __builtin_bswap16(a);
}

inline unsigned int __nv_bswap32(unsigned int a) {
    return __builtin_bswap32(a);
}

inline unsigned long long __nv_bswap64(unsigned long long a) {
    return __builtin_bswap64(a);
}

// Four bytes of y:x, each chosen by three bits of a nibble of the selector.
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
    const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned chosen = 0;
    for (int index = 0; index < 4; ++index) {
        const unsigned source = selector >> 4 * index & 7;
        chosen |= static_cast<unsigned>(bytes >> 8 * source & 0xFF) << 8 * index;
    }
    return chosen;
}

// The position of the offset-th set bit from bit `base` on, upwards where offset is positive and
// downwards where negative; offset 0 asks whether bit `base` itself is set. All ones if none.
inline unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
    if (offset == 0) return mask >> base & 1 ? base : 0xFFFFFFFFu;
    const int step = offset > 0 ? 1 : -1;
    int left = offset * step;
    for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step) {
        if (mask >> bit & 1 && --left == 0) return static_cast<unsigned>(bit);
    }
    return 0xFFFFFFFFu;
}

inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
    const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>(both << (shift & 31) >> 32);
}

inline unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift < 32 ? __funnelshift_l(low, high, shift) : low;
}

inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
    const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>(both >> (shift & 31));
}

inline unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift < 32 ? __funnelshift_r(low, high, shift) : high;
}

inline int __mul24(int a, int b) {
    const auto low24 = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
    return static_cast<int>(static_cast<long long>(low24(a)) * low24(b));
}

inline unsigned int __umul24(unsigned int a, unsigned int b) {
    return (a & 0xFFFFFFu) * (b & 0xFFFFFFu);
}

inline int __mulhi(int a, int b) {
    return static_cast<int>(static_cast<long long>(a) * b >> 32);
}

inline unsigned int __umulhi(unsigned int a, unsigned int b) {
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}

inline long long __mul64hi(long long a, long long b) {
    return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

inline unsigned int __sad(int a, int b, unsigned int sum) {
    const long long difference = static_cast<long long>(a) - b;
    return sum + static_cast<unsigned>(difference < 0 ? -difference : difference);
}

inline unsigned int __usad(unsigned int a, unsigned int b, unsigned int sum) {
    return sum + (a < b ? b - a : a - b);
}

// Halved sums, of which the r forms round up.
inline int __hadd(int a, int b) {
    return static_cast<int>((static_cast<long long>(a) + b) >> 1);
}

inline int __rhadd(int a, int b) {
    return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}

inline unsigned int __uhadd(unsigned int a, unsigned int b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}

inline unsigned int __urhadd(unsigned int a, unsigned int b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

namespace paged_interpret {

// sum + the products of a's lanes with as many of b's, from b's lane `first` on; sums wrap.
template <class Lane4, class Lane, int count, class A, class Sum>
inline Sum dot_product(A a, Lane4 b, int first, Sum sum) {
    static_assert(count * sizeof(Lane) == sizeof(A), "a holds the lanes of one factor");
    Lane left[count];
    decltype(b.x) right[4];
    __builtin_memcpy(left, &a, sizeof left);
    __builtin_memcpy(right, &b, sizeof right);
    auto total = static_cast<unsigned>(sum);
    for (int lane = 0; lane < count; ++lane) {
        total += static_cast<unsigned>(static_cast<int>(left[lane]) * right[first + lane]);
    }
    return static_cast<Sum>(total);
}

}  // namespace paged_interpret

#define PAGED_DOT_PRODUCTS(word, bytes, byte, shorts, half)                                       \
    inline word __dp4a(bytes a, bytes b, word sum) {                                              \
        return paged_interpret::dot_product<bytes, byte, 4>(a, b, 0, sum);                        \
    }                                                                                             \
    inline word __dp2a_lo(shorts a, bytes b, word sum) {                                          \
        return paged_interpret::dot_product<bytes, half, 2>(a, b, 0, sum);                        \
    }                                                                                             \
    inline word __dp2a_hi(shorts a, bytes b, word sum) {                                          \
        return paged_interpret::dot_product<bytes, half, 2>(a, b, 2, sum);                        \
    }                                                                                             \
    inline word __dp4a(word a, word b, word sum) {                                                \
        using paged_interpret::bit_cast;                                                          \
        return __dp4a(bit_cast<bytes>(a), bit_cast<bytes>(b), sum);                               \
    }                                                                                             \
    inline word __dp2a_lo(word a, word b, word sum) {                                             \
        using paged_interpret::bit_cast;                                                          \
        return __dp2a_lo(bit_cast<shorts>(a), bit_cast<bytes>(b), sum);                           \
    }                                                                                             \
    inline word __dp2a_hi(word a, word b, word sum) {                                             \
        using paged_interpret::bit_cast;                                                          \
        return __dp2a_hi(bit_cast<shorts>(a), bit_cast<bytes>(b), sum);                           \
    }

PAGED_DOT_PRODUCTS(int, char4, signed char, short2, short)
PAGED_DOT_PRODUCTS(unsigned int, uchar4, unsigned char, ushort2, unsigned short)
#undef PAGED_DOT_PRODUCTS
