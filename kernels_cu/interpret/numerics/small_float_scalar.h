// Body of cuda_fp16.h and cuda_bf16.h: scalar arithmetic and comparison. Macros:
// small_float_type.h.
//
// Every result is rounded once. Sums, products, quotients and roots are exact enough in binary32
// that rounding twice equals rounding once (24 >= 2 * 11 + 2 bits); fused multiply-add goes
// through a double rounded to odd.

inline bool __hisnan(PAGED_T a) {
    return (a.bits & 0x7FFF) > paged_interpret::PAGED_CODEC::kInfinity;
}

inline int __hisinf(PAGED_T a) {
    if ((a.bits & 0x7FFF) != paged_interpret::PAGED_CODEC::kInfinity) return 0;
    return a.bits & 0x8000 ? -1 : 1;
}

inline PAGED_T __habs(PAGED_T a) {
    return PAGED_RAW{static_cast<unsigned short>(a.bits & 0x7FFF)};
}

inline PAGED_T __hneg(PAGED_T a) {
    return PAGED_RAW{static_cast<unsigned short>(a.bits ^ 0x8000)};
}

namespace paged_interpret {

// To [0, 1]; NaN becomes zero.
inline PAGED_T saturate(PAGED_T a) {
    const float value = a;
    return value >= 1.0f ? PAGED_T(1.0f) : value > 0.0f ? a : PAGED_T(0.0f);
}

// Negative numbers become zero; NaN stays.
inline PAGED_T rectify(PAGED_T a) {
    return float(a) <= 0.0f ? PAGED_T(0.0f) : a;
}

// Whether a is the larger of two numbers; of zeros the positive one is.
inline bool is_larger(PAGED_T a, PAGED_T b) {
    return float(a) > float(b) || (float(a) == float(b) && !(a.bits & 0x8000));
}

}  // namespace paged_interpret

#define PAGED_ARITHMETIC(name, symbol)                                                            \
    inline PAGED_T name(PAGED_T a, PAGED_T b) {                                                   \
        return float(a) symbol float(b);                                                          \
    }                                                                                             \
    inline PAGED_T name##_rn(PAGED_T a, PAGED_T b) {                                              \
        return name(a, b);                                                                        \
    }                                                                                             \
    inline PAGED_T name##_sat(PAGED_T a, PAGED_T b) {                                             \
        return paged_interpret::saturate(name(a, b));                                             \
    }

PAGED_ARITHMETIC(__hadd, +)
PAGED_ARITHMETIC(__hsub, -)
PAGED_ARITHMETIC(__hmul, *)
#undef PAGED_ARITHMETIC

inline PAGED_T __hdiv(PAGED_T a, PAGED_T b) {
    return float(a) / float(b);
}

inline PAGED_T __hfma(PAGED_T a, PAGED_T b, PAGED_T c) {
    const double product = static_cast<double>(float(a)) * static_cast<double>(float(b));
    return paged_interpret::add_to_odd(product, float(c));
}

inline PAGED_T __hfma_sat(PAGED_T a, PAGED_T b, PAGED_T c) {
    return paged_interpret::saturate(__hfma(a, b, c));
}

inline PAGED_T __hfma_relu(PAGED_T a, PAGED_T b, PAGED_T c) {
    return paged_interpret::rectify(__hfma(a, b, c));
}

inline PAGED_T __hmax_nan(PAGED_T a, PAGED_T b) {
    if (__hisnan(a) || __hisnan(b)) return PAGED_RAW{paged_interpret::PAGED_CODEC::kNan};
    return paged_interpret::is_larger(a, b) ? a : b;
}

inline PAGED_T __hmin_nan(PAGED_T a, PAGED_T b) {
    if (__hisnan(a) || __hisnan(b)) return PAGED_RAW{paged_interpret::PAGED_CODEC::kNan};
    return paged_interpret::is_larger(a, b) ? b : a;
}

inline PAGED_T __hmax(PAGED_T a, PAGED_T b) {
    return __hmax_nan(__hisnan(a) ? b : a, __hisnan(b) ? a : b);
}

inline PAGED_T __hmin(PAGED_T a, PAGED_T b) {
    return __hmin_nan(__hisnan(a) ? b : a, __hisnan(b) ? a : b);
}

// The plain form is false where an operand is NaN, the unordered form (u) is true there.
#define PAGED_COMPARISON(name, symbol)                                                            \
    inline bool name(PAGED_T a, PAGED_T b) {                                                      \
        return !__hisnan(a) && !__hisnan(b) && float(a) symbol float(b);                          \
    }                                                                                             \
    inline bool name##u(PAGED_T a, PAGED_T b) {                                                   \
        return __hisnan(a) || __hisnan(b) || float(a) symbol float(b);                            \
    }

PAGED_COMPARISON(__heq, ==)
PAGED_COMPARISON(__hne, !=)
PAGED_COMPARISON(__hle, <=)
PAGED_COMPARISON(__hge, >=)
PAGED_COMPARISON(__hlt, <)
PAGED_COMPARISON(__hgt, >)
#undef PAGED_COMPARISON

#define PAGED_OPERATOR(symbol, function)                                                          \
    inline PAGED_T operator symbol(const PAGED_T& a, const PAGED_T& b) {                          \
        return function(a, b);                                                                    \
    }                                                                                             \
    inline PAGED_T& operator symbol##=(PAGED_T& a, const PAGED_T& b) {                            \
        return a = function(a, b);                                                                \
    }

PAGED_OPERATOR(+, __hadd)
PAGED_OPERATOR(-, __hsub)
PAGED_OPERATOR(*, __hmul)
PAGED_OPERATOR(/, __hdiv)
#undef PAGED_OPERATOR

#define PAGED_RELATION(symbol, function)                                                          \
    inline bool operator symbol(const PAGED_T& a, const PAGED_T& b) {                             \
        return function(a, b);                                                                    \
    }

PAGED_RELATION(==, __heq)
PAGED_RELATION(!=, __hneu)
PAGED_RELATION(<, __hlt)
PAGED_RELATION(>, __hgt)
PAGED_RELATION(<=, __hle)
PAGED_RELATION(>=, __hge)
#undef PAGED_RELATION

inline PAGED_T operator+(const PAGED_T& a) {
    return a;
}

inline PAGED_T operator-(const PAGED_T& a) {
    return __hneg(a);
}

inline PAGED_T& operator++(PAGED_T& a) {
    return a += PAGED_T(1.0f);
}

inline PAGED_T& operator--(PAGED_T& a) {
    return a -= PAGED_T(1.0f);
}

inline PAGED_T operator++(PAGED_T& a, int) {
    const PAGED_T before = a;
    ++a;
    return before;
}

inline PAGED_T operator--(PAGED_T& a, int) {
    const PAGED_T before = a;
    --a;
    return before;
}
