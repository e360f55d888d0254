// Arithmetic in a chosen rounding mode, by the processor's own control register.
#pragma once

#include "rounding.h"

namespace paged_interpret {

// Runs an operation with SSE arithmetic rounding as told. The operation reads its operands and
// keeps its result through volatile variables, else the compiler moves it out of here.
template <class Operation>
inline auto with_rounding(Rounding mode, Operation operation) {
    constexpr unsigned kRoundingField = 0x6000;
    const unsigned field = mode == Rounding::kNearestEven ? 0x0000
                           : mode == Rounding::kDown      ? 0x2000
                           : mode == Rounding::kUp        ? 0x4000
                                                          : 0x6000;
    const unsigned saved = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((saved & ~kRoundingField) | field);
    const auto result = operation();
    __builtin_ia32_ldmxcsr(saved);
    return result;
}

// A function of up to three operands of one type, in every rounding mode.
#define PAGED_IN_MODE(name, type, parameters, capture, expression, mode)                          \
    inline type name parameters {                                                                 \
        return paged_interpret::with_rounding(paged_interpret::Rounding::mode, [=] {              \
            capture;                                                                              \
            const volatile type result = (expression);                                            \
            return static_cast<type>(result);                                                     \
        });                                                                                       \
    }

#define PAGED_IN_ALL_MODES(name, type, parameters, capture, expression)                           \
    PAGED_IN_MODE(name##_rn, type, parameters, capture, expression, kNearestEven)                 \
    PAGED_IN_MODE(name##_rz, type, parameters, capture, expression, kTowardZero)                  \
    PAGED_IN_MODE(name##_rd, type, parameters, capture, expression, kDown)                        \
    PAGED_IN_MODE(name##_ru, type, parameters, capture, expression, kUp)

#define PAGED_UNARY_MODES(name, to, from, expression)                                             \
    PAGED_IN_ALL_MODES(name, to, (from x), const volatile from a = x, expression)

#define PAGED_BINARY_MODES(name, type, expression)                                                \
    PAGED_IN_ALL_MODES(name, type, (type x, type y),                                              \
                       const volatile type a = x; const volatile type b = y, expression)

#define PAGED_TERNARY_MODES(name, type, expression)                                               \
    PAGED_IN_ALL_MODES(name, type, (type x, type y, type z),                                      \
                       const volatile type a = x; const volatile type b = y;                      \
                       const volatile type c = z, expression)

}  // namespace paged_interpret

PAGED_BINARY_MODES(__fadd, float, a + b)
PAGED_BINARY_MODES(__fsub, float, a - b)
PAGED_BINARY_MODES(__fmul, float, a * b)
PAGED_BINARY_MODES(__fdiv, float, a / b)
PAGED_TERNARY_MODES(__fmaf, float, __builtin_fmaf(a, b, c))
PAGED_TERNARY_MODES(__fmaf_ieee, float, __builtin_fmaf(a, b, c))
PAGED_UNARY_MODES(__frcp, float, float, 1.0f / a)
PAGED_UNARY_MODES(__fsqrt, float, float, __builtin_sqrtf(a))

PAGED_BINARY_MODES(__dadd, double, a + b)
PAGED_BINARY_MODES(__dsub, double, a - b)
PAGED_BINARY_MODES(__dmul, double, a * b)
PAGED_BINARY_MODES(__ddiv, double, a / b)
PAGED_TERNARY_MODES(__fma, double, __builtin_fma(a, b, c))
PAGED_UNARY_MODES(__drcp, double, double, 1.0 / a)
PAGED_UNARY_MODES(__dsqrt, double, double, __builtin_sqrt(a))

PAGED_UNARY_MODES(__double2float, float, double, static_cast<float>(a))
PAGED_UNARY_MODES(__int2float, float, int, static_cast<float>(a))
PAGED_UNARY_MODES(__uint2float, float, unsigned int, static_cast<float>(a))
PAGED_UNARY_MODES(__ll2float, float, long long, static_cast<float>(a))
PAGED_UNARY_MODES(__ull2float, float, unsigned long long, static_cast<float>(a))
PAGED_UNARY_MODES(__ll2double, double, long long, static_cast<double>(a))
PAGED_UNARY_MODES(__ull2double, double, unsigned long long, static_cast<double>(a))

#undef PAGED_IN_MODE
#undef PAGED_IN_ALL_MODES
#undef PAGED_UNARY_MODES
#undef PAGED_BINARY_MODES
#undef PAGED_TERNARY_MODES

inline double __int2double_rn(int a) {
    return a;
}

inline double __uint2double_rn(unsigned int a) {
    return a;
}

inline float __frsqrt_rn(float a) {
    return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a)));
}
