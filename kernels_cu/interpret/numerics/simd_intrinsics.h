// CUDA's video instructions: two 16-bit or four 8-bit lanes in a word (__vadd2, __vcmpgtu4, ..).
#pragma once

#include "bits.h"

namespace paged_interpret {

// Results of int expressions, as a lane of fewer bits holds them.
template <class Lane>
inline Lane clamp_lane(int value) {
    constexpr bool is_signed = static_cast<Lane>(-1) < static_cast<Lane>(0);
    constexpr int bits = 8 * sizeof(Lane) - (is_signed ? 1 : 0);
    constexpr int highest = (1 << bits) - 1;
    constexpr int lowest = is_signed ? -highest - 1 : 0;
    return static_cast<Lane>(value > highest ? highest : value < lowest ? lowest : value);
}

template <class Lane, class Operation>
inline unsigned map_lanes(unsigned a, unsigned b, Operation operation) {
    constexpr int count = 4 / sizeof(Lane);
    Lane left[count], right[count];
    __builtin_memcpy(left, &a, sizeof a);
    __builtin_memcpy(right, &b, sizeof b);
    for (int lane = 0; lane < count; ++lane) {
        left[lane] = static_cast<Lane>(operation(left[lane], right[lane]));
    }
    return bit_cast<unsigned>(left);
}

template <class Lane>
inline unsigned sum_lanes(unsigned a) {
    constexpr int count = 4 / sizeof(Lane);
    Lane lanes[count];
    __builtin_memcpy(lanes, &a, sizeof a);
    unsigned sum = 0;
    for (const Lane lane : lanes) sum += lane;
    return sum;
}

}  // namespace paged_interpret

#define PAGED_BINARY(name, lane, expression)                                                      \
    inline unsigned int name(unsigned int a, unsigned int b) {                                    \
        using namespace paged_interpret;                                                          \
        return map_lanes<lane>(a, b, [](int x, int y) -> int { return expression; });             \
    }

#define PAGED_UNARY(name, lane, expression)                                                       \
    inline unsigned int name(unsigned int a) {                                                    \
        using namespace paged_interpret;                                                          \
        return map_lanes<lane>(a, a, [](int x, int) -> int { return expression; });               \
    }

#define PAGED_RELATION(name, count, lane, symbol)                                                 \
    PAGED_BINARY(__vcmp##name##count, lane, x symbol y ? -1 : 0)                                  \
    PAGED_BINARY(__vset##name##count, lane, x symbol y ? 1 : 0)

#define PAGED_LANES(count, s, u)                                                                  \
    PAGED_BINARY(__vadd##count, u, x + y)                                                         \
    PAGED_BINARY(__vsub##count, u, x - y)                                                         \
    PAGED_BINARY(__vaddss##count, s, clamp_lane<s>(x + y))                                        \
    PAGED_BINARY(__vaddus##count, u, clamp_lane<u>(x + y))                                        \
    PAGED_BINARY(__vsubss##count, s, clamp_lane<s>(x - y))                                        \
    PAGED_BINARY(__vsubus##count, u, clamp_lane<u>(x - y))                                        \
    PAGED_BINARY(__vmaxs##count, s, x > y ? x : y)                                                \
    PAGED_BINARY(__vmaxu##count, u, x > y ? x : y)                                                \
    PAGED_BINARY(__vmins##count, s, x < y ? x : y)                                                \
    PAGED_BINARY(__vminu##count, u, x < y ? x : y)                                                \
    PAGED_BINARY(__vavgs##count, s, x + y >= 0 ? (x + y + 1) >> 1 : (x + y) / 2)                  \
    PAGED_BINARY(__vavgu##count, u, (x + y + 1) >> 1)                                             \
    PAGED_BINARY(__vhaddu##count, u, (x + y) >> 1)                                                \
    PAGED_BINARY(__vabsdiffs##count, s, x > y ? x - y : y - x)                                    \
    PAGED_BINARY(__vabsdiffu##count, u, x > y ? x - y : y - x)                                    \
    PAGED_UNARY(__vabs##count, s, x < 0 ? -x : x)                                                 \
    PAGED_UNARY(__vabsss##count, s, clamp_lane<s>(x < 0 ? -x : x))                                \
    PAGED_UNARY(__vneg##count, s, -x)                                                             \
    PAGED_UNARY(__vnegss##count, s, clamp_lane<s>(-x))                                            \
    PAGED_RELATION(eq, count, u, ==)                                                              \
    PAGED_RELATION(ne, count, u, !=)                                                              \
    PAGED_RELATION(gts, count, s, >)                                                              \
    PAGED_RELATION(gtu, count, u, >)                                                              \
    PAGED_RELATION(ges, count, s, >=)                                                             \
    PAGED_RELATION(geu, count, u, >=)                                                             \
    PAGED_RELATION(lts, count, s, <)                                                              \
    PAGED_RELATION(ltu, count, u, <)                                                              \
    PAGED_RELATION(les, count, s, <=)                                                             \
    PAGED_RELATION(leu, count, u, <=)                                                             \
    inline unsigned int __vsads##count(unsigned int a, unsigned int b) {                          \
        return paged_interpret::sum_lanes<u>(__vabsdiffs##count(a, b));                           \
    }                                                                                             \
    inline unsigned int __vsadu##count(unsigned int a, unsigned int b) {                          \
        return paged_interpret::sum_lanes<u>(__vabsdiffu##count(a, b));                           \
    }

PAGED_LANES(2, short, unsigned short)
PAGED_LANES(4, signed char, unsigned char)
#undef PAGED_LANES
#undef PAGED_RELATION
#undef PAGED_UNARY
#undef PAGED_BINARY
