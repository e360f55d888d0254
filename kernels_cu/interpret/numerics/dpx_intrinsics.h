// CUDA's fused sums, maxima and minima for dynamic programming, of words and of 16-bit halves
// (__viaddmax_s32, __vimin3_s16x2_relu, __vibmax_u16x2, ..). Sums wrap.
#pragma once

#include "bits.h"

namespace paged_interpret {

template <class Lane, class Word, class Operation>
inline Word map_three(Word a, Word b, Word c, Operation operation) {
    constexpr int count = sizeof(Word) / sizeof(Lane);
    Lane first[count], second[count], third[count];
    __builtin_memcpy(first, &a, sizeof a);
    __builtin_memcpy(second, &b, sizeof b);
    __builtin_memcpy(third, &c, sizeof c);
    for (int lane = 0; lane < count; ++lane) {
        first[lane] = static_cast<Lane>(operation(first[lane], second[lane], third[lane]));
    }
    return bit_cast<Word>(first);
}

struct Higher {
    template <class Lane>
    static Lane of(Lane x, Lane y) {
        return x < y ? y : x;
    }
};

struct Lower {
    template <class Lane>
    static Lane of(Lane x, Lane y) {
        return y < x ? y : x;
    }
};

}  // namespace paged_interpret

#define PAGED_DPX_THREE(name, word, lane, expression)                                             \
    inline word name(word a, word b, word c) {                                                    \
        using namespace paged_interpret;                                                          \
        return map_three<lane>(a, b, c, [](lane x, lane y, lane z) -> lane {                      \
            return static_cast<void>(z), expression;                                              \
        });                                                                                       \
    }

#define PAGED_DPX_TWO(name, word, lane, expression)                                               \
    inline word name(word a, word b) {                                                            \
        using namespace paged_interpret;                                                          \
        return map_three<lane>(a, b, b, [](lane x, lane y, lane) -> lane { return expression; }); \
    }

#define PAGED_DPX(way, pick, kind, word, lane)                                                    \
    PAGED_DPX_THREE(__viadd##way##_##kind, word, lane, pick::of(static_cast<lane>(x + y), z))     \
    PAGED_DPX_THREE(__vi##way##3_##kind, word, lane, pick::of(pick::of(x, y), z))

#define PAGED_DPX_RELU(way, pick, kind, word, lane)                                               \
    PAGED_DPX_THREE(__viadd##way##_##kind##_relu, word, lane,                                     \
                    Higher::of(pick::of(static_cast<lane>(x + y), z), lane{0}))                   \
    PAGED_DPX_THREE(__vi##way##3_##kind##_relu, word, lane,                                       \
                    Higher::of(pick::of(pick::of(x, y), z), lane{0}))                             \
    PAGED_DPX_TWO(__vi##way##_##kind##_relu, word, lane, Higher::of(pick::of(x, y), lane{0}))

// These tell whether the first value was taken, for equal ones too.
#define PAGED_DPX_TOLD(way, pick, kind, word)                                                     \
    inline word __vib##way##_##kind(word a, word b, bool* is_first) {                             \
        const word taken = paged_interpret::pick::of(a, b);                                       \
        *is_first = taken == a;                                                                   \
        return taken;                                                                             \
    }

#define PAGED_DPX_TOLD_HALVES(way, kind, half)                                                    \
    inline unsigned int __vib##way##_##kind##x2(unsigned int a, unsigned int b,                   \
                                                bool* is_high_first, bool* is_low_first) {        \
        const auto high = static_cast<half>(__vib##way##_##kind(                                  \
            static_cast<half>(a >> 16), static_cast<half>(b >> 16), is_high_first));              \
        const auto low = static_cast<half>(                                                       \
            __vib##way##_##kind(static_cast<half>(a), static_cast<half>(b), is_low_first));       \
        return static_cast<unsigned int>(static_cast<unsigned short>(high)) << 16 |               \
               static_cast<unsigned short>(low);                                                  \
    }

#define PAGED_DPX_WAY(way, pick)                                                                  \
    PAGED_DPX(way, pick, s32, int, int)                                                           \
    PAGED_DPX(way, pick, u32, unsigned int, unsigned int)                                         \
    PAGED_DPX(way, pick, s16x2, unsigned int, short)                                              \
    PAGED_DPX(way, pick, u16x2, unsigned int, unsigned short)                                     \
    PAGED_DPX_RELU(way, pick, s32, int, int)                                                      \
    PAGED_DPX_RELU(way, pick, s16x2, unsigned int, short)                                         \
    PAGED_DPX_TOLD(way, pick, s32, int)                                                           \
    PAGED_DPX_TOLD(way, pick, u32, unsigned int)                                                  \
    namespace paged_interpret {                                                                   \
    PAGED_DPX_TOLD(way, pick, s16, short)                                                         \
    PAGED_DPX_TOLD(way, pick, u16, unsigned short)                                                \
    PAGED_DPX_TOLD_HALVES(way, s16, short)                                                        \
    PAGED_DPX_TOLD_HALVES(way, u16, unsigned short)                                               \
    }                                                                                             \
    using paged_interpret::__vib##way##_s16x2;                                                    \
    using paged_interpret::__vib##way##_u16x2;

PAGED_DPX_WAY(max, Higher)
PAGED_DPX_WAY(min, Lower)
#undef PAGED_DPX_WAY
#undef PAGED_DPX_TOLD_HALVES
#undef PAGED_DPX_TOLD
#undef PAGED_DPX_RELU
#undef PAGED_DPX
#undef PAGED_DPX_TWO
#undef PAGED_DPX_THREE
