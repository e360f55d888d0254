// CUDA's conversions from floating point to integers, and reinterpretations of bits.
#pragma once

#include "integers.h"

#define PAGED_CONVERSION(name, from, to, suffix, mode)                                            \
    inline to name##suffix(from a) {                                                              \
        return paged_interpret::to_integer<to>(a, paged_interpret::Rounding::mode);               \
    }

#define PAGED_CONVERSIONS(name, from, to)                                                         \
    PAGED_CONVERSION(name, from, to, _rn, kNearestEven)                                           \
    PAGED_CONVERSION(name, from, to, _rz, kTowardZero)                                            \
    PAGED_CONVERSION(name, from, to, _rd, kDown)                                                  \
    PAGED_CONVERSION(name, from, to, _ru, kUp)

PAGED_CONVERSIONS(__float2int, float, int)
PAGED_CONVERSIONS(__float2uint, float, unsigned int)
PAGED_CONVERSIONS(__float2ll, float, long long)
PAGED_CONVERSIONS(__float2ull, float, unsigned long long)
PAGED_CONVERSIONS(__double2int, double, int)
PAGED_CONVERSIONS(__double2uint, double, unsigned int)
PAGED_CONVERSIONS(__double2ll, double, long long)
PAGED_CONVERSIONS(__double2ull, double, unsigned long long)
#undef PAGED_CONVERSIONS
#undef PAGED_CONVERSION

#define PAGED_REINTERPRETATION(name, from, to)                                                    \
    inline to name(from a) {                                                                      \
        return paged_interpret::bit_cast<to>(a);                                                  \
    }

PAGED_REINTERPRETATION(__float_as_int, float, int)
PAGED_REINTERPRETATION(__float_as_uint, float, unsigned int)
PAGED_REINTERPRETATION(__int_as_float, int, float)
PAGED_REINTERPRETATION(__uint_as_float, unsigned int, float)
PAGED_REINTERPRETATION(__double_as_longlong, double, long long)
PAGED_REINTERPRETATION(__longlong_as_double, long long, double)
#undef PAGED_REINTERPRETATION

inline int __double2hiint(double a) {
    return static_cast<int>(__double_as_longlong(a) >> 32);
}

inline int __double2loint(double a) {
    return static_cast<int>(__double_as_longlong(a));
}

inline double __hiloint2double(int high, int low) {
    const auto bits = static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32;
    return __longlong_as_double(static_cast<long long>(bits | static_cast<unsigned>(low)));
}
