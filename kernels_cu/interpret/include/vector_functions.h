// make_float4(x, y, z, w) and its kin: CUDA's constructors of vector types.
#pragma once

#include "vector_types.h"

#define PAGED_MAKE_FUNCTIONS(name, element)                                                       \
    inline name##1 make_##name##1(element x) {                                                    \
        return {x};                                                                               \
    }                                                                                             \
    inline name##2 make_##name##2(element x, element y) {                                         \
        return {x, y};                                                                            \
    }                                                                                             \
    inline name##3 make_##name##3(element x, element y, element z) {                              \
        return {x, y, z};                                                                         \
    }                                                                                             \
    inline name##4 make_##name##4(element x, element y, element z, element w) {                   \
        return {x, y, z, w};                                                                      \
    }

PAGED_MAKE_FUNCTIONS(char, signed char)
PAGED_MAKE_FUNCTIONS(uchar, unsigned char)
PAGED_MAKE_FUNCTIONS(short, short)
PAGED_MAKE_FUNCTIONS(ushort, unsigned short)
PAGED_MAKE_FUNCTIONS(int, int)
PAGED_MAKE_FUNCTIONS(uint, unsigned int)
PAGED_MAKE_FUNCTIONS(long, long)
PAGED_MAKE_FUNCTIONS(ulong, unsigned long)
PAGED_MAKE_FUNCTIONS(longlong, long long)
PAGED_MAKE_FUNCTIONS(ulonglong, unsigned long long)
PAGED_MAKE_FUNCTIONS(float, float)
PAGED_MAKE_FUNCTIONS(double, double)

#undef PAGED_MAKE_FUNCTIONS
