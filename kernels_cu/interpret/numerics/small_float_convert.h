// Body of cuda_fp16.h and cuda_bf16.h: conversion intrinsics. Macros: small_float_type.h.

inline PAGED_T PAGED_JOIN(__ushort_as_, PAGED_TAG, )(unsigned short bits) {
    return PAGED_RAW{bits};
}

inline PAGED_T PAGED_JOIN(__short_as_, PAGED_TAG, )(short bits) {
    return PAGED_RAW{static_cast<unsigned short>(bits)};
}

inline unsigned short PAGED_JOIN(__, PAGED_TAG, _as_ushort)(PAGED_T a) {
    return a.bits;
}

inline short PAGED_JOIN(__, PAGED_TAG, _as_short)(PAGED_T a) {
    return static_cast<short>(a.bits);
}

inline float PAGED_JOIN(__, PAGED_TAG, 2float)(PAGED_T a) {
    return a;
}

inline PAGED_T PAGED_JOIN(__float2, PAGED_TAG, )(float a) {
    return a;
}

inline PAGED_T PAGED_JOIN(__double2, PAGED_TAG, )(double a) {
    return a;
}

#define PAGED_FROM_FLOAT(suffix, mode)                                                            \
    inline PAGED_T PAGED_JOIN(__float2, PAGED_TAG, suffix)(float a) {                             \
        using paged_interpret::Rounding;                                                          \
        return PAGED_RAW{paged_interpret::PAGED_CODEC::encode<Rounding::mode>(a)};                \
    }

PAGED_FROM_FLOAT(_rn, kNearestEven)
PAGED_FROM_FLOAT(_rz, kTowardZero)
PAGED_FROM_FLOAT(_rd, kDown)
PAGED_FROM_FLOAT(_ru, kUp)
#undef PAGED_FROM_FLOAT

#define PAGED_INTEGER_MODE(name, integer, wide, suffix, mode)                                     \
    inline PAGED_T PAGED_JOIN(__##name##2, PAGED_TAG, suffix)(integer a) {                        \
        using namespace paged_interpret;                                                          \
        return PAGED_RAW{PAGED_CODEC::encode_exact(static_cast<wide>(a), Rounding::mode)};        \
    }                                                                                             \
    inline integer PAGED_JOIN(__, PAGED_TAG, 2##name##suffix)(PAGED_T a) {                        \
        using namespace paged_interpret;                                                          \
        return to_integer<integer>(float(a), Rounding::mode);                                     \
    }

#define PAGED_INTEGER(name, integer, wide)                                                        \
    PAGED_INTEGER_MODE(name, integer, wide, _rn, kNearestEven)                                    \
    PAGED_INTEGER_MODE(name, integer, wide, _rz, kTowardZero)                                     \
    PAGED_INTEGER_MODE(name, integer, wide, _rd, kDown)                                           \
    PAGED_INTEGER_MODE(name, integer, wide, _ru, kUp)

PAGED_INTEGER(short, short, long long)
PAGED_INTEGER(ushort, unsigned short, long long)
PAGED_INTEGER(int, int, long long)
PAGED_INTEGER(uint, unsigned int, long long)
PAGED_INTEGER(ll, long long, long long)
PAGED_INTEGER(ull, unsigned long long, unsigned long long)
#undef PAGED_INTEGER
#undef PAGED_INTEGER_MODE

inline signed char PAGED_JOIN(__, PAGED_TAG, 2char_rz)(PAGED_T a) {
    return a;
}

inline unsigned char PAGED_JOIN(__, PAGED_TAG, 2uchar_rz)(PAGED_T a) {
    return a;
}

inline PAGED_T2 PAGED_JOIN(make_, PAGED_TAG, 2)(PAGED_T x, PAGED_T y) {
    return {x, y};
}

inline PAGED_T2 PAGED_JOIN(__halves2, PAGED_TAG, 2)(PAGED_T x, PAGED_T y) {
    return {x, y};
}

inline PAGED_T2 PAGED_JOIN(PAGED_JOIN(__, PAGED_TAG, 2), PAGED_TAG, 2)(PAGED_T a) {
    return {a, a};
}

inline PAGED_T2 PAGED_JOIN(__float2, PAGED_TAG, 2_rn)(float a) {
    return {PAGED_T(a), PAGED_T(a)};
}

inline PAGED_T2 PAGED_JOIN(__floats2, PAGED_TAG, 2_rn)(float x, float y) {
    return {PAGED_T(x), PAGED_T(y)};
}

inline PAGED_T2 PAGED_JOIN(__float22, PAGED_TAG, 2_rn)(float2 a) {
    return {PAGED_T(a.x), PAGED_T(a.y)};
}

inline float2 PAGED_JOIN(__, PAGED_TAG, 22float2)(PAGED_T2 a) {
    return {float(a.x), float(a.y)};
}

inline float __low2float(PAGED_T2 a) {
    return a.x;
}

inline float __high2float(PAGED_T2 a) {
    return a.y;
}

inline PAGED_T PAGED_JOIN(__low2, PAGED_TAG, )(PAGED_T2 a) {
    return a.x;
}

inline PAGED_T PAGED_JOIN(__high2, PAGED_TAG, )(PAGED_T2 a) {
    return a.y;
}

inline PAGED_T2 PAGED_JOIN(__low2, PAGED_TAG, 2)(PAGED_T2 a) {
    return {a.x, a.x};
}

inline PAGED_T2 PAGED_JOIN(__high2, PAGED_TAG, 2)(PAGED_T2 a) {
    return {a.y, a.y};
}

inline PAGED_T2 PAGED_JOIN(__lows2, PAGED_TAG, 2)(PAGED_T2 a, PAGED_T2 b) {
    return {a.x, b.x};
}

inline PAGED_T2 PAGED_JOIN(__highs2, PAGED_TAG, 2)(PAGED_T2 a, PAGED_T2 b) {
    return {a.y, b.y};
}

inline PAGED_T2 __lowhigh2highlow(PAGED_T2 a) {
    return {a.y, a.x};
}
