// min and max of every pair of arithmetic types that CUDA takes.
#pragma once

#define PAGED_EXTREMA(result, left, right)                                                        \
    inline result min(left a, right b) {                                                          \
        return static_cast<result>(a) < static_cast<result>(b) ? static_cast<result>(a)           \
                                                               : static_cast<result>(b);          \
    }                                                                                             \
    inline result max(left a, right b) {                                                          \
        return static_cast<result>(a) > static_cast<result>(b) ? static_cast<result>(a)           \
                                                               : static_cast<result>(b);          \
    }

#define PAGED_MIXED_EXTREMA(integer)                                                              \
    PAGED_EXTREMA(integer, integer, integer)                                                      \
    PAGED_EXTREMA(unsigned integer, unsigned integer, unsigned integer)                           \
    PAGED_EXTREMA(unsigned integer, integer, unsigned integer)                                    \
    PAGED_EXTREMA(unsigned integer, unsigned integer, integer)

PAGED_MIXED_EXTREMA(int)
PAGED_MIXED_EXTREMA(long)
PAGED_MIXED_EXTREMA(long long)
#undef PAGED_MIXED_EXTREMA
#undef PAGED_EXTREMA

// Of a number and NaN, the number.
#define PAGED_EXTREMA(result, left, right)                                                        \
    inline result min(left a, right b) {                                                          \
        return static_cast<result>(__builtin_fmin(a, b));                                         \
    }                                                                                             \
    inline result max(left a, right b) {                                                          \
        return static_cast<result>(__builtin_fmax(a, b));                                         \
    }

PAGED_EXTREMA(float, float, float)
PAGED_EXTREMA(double, double, double)
PAGED_EXTREMA(double, float, double)
PAGED_EXTREMA(double, double, float)
#undef PAGED_EXTREMA

inline unsigned int umin(unsigned int a, unsigned int b) {
    return min(a, b);
}

inline unsigned int umax(unsigned int a, unsigned int b) {
    return max(a, b);
}

inline long long llmin(long long a, long long b) {
    return min(a, b);
}

inline long long llmax(long long a, long long b) {
    return max(a, b);
}

inline unsigned long long ullmin(unsigned long long a, unsigned long long b) {
    return min(a, b);
}

inline unsigned long long ullmax(unsigned long long a, unsigned long long b) {
    return max(a, b);
}
