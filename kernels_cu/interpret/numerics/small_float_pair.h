// Body of cuda_fp16.h and cuda_bf16.h: arithmetic and comparison of pairs, lane by lane. Macros:
// small_float_type.h.

#define PAGED_UNARY(name, scalar)                                                                 \
    inline PAGED_T2 name(PAGED_T2 a) {                                                            \
        return {scalar(a.x), scalar(a.y)};                                                        \
    }

PAGED_UNARY(__habs2, __habs)
PAGED_UNARY(__hneg2, __hneg)
#undef PAGED_UNARY

#define PAGED_BINARY(name, scalar)                                                                \
    inline PAGED_T2 name(PAGED_T2 a, PAGED_T2 b) {                                                \
        return {scalar(a.x, b.x), scalar(a.y, b.y)};                                              \
    }

PAGED_BINARY(__hadd2, __hadd)
PAGED_BINARY(__hadd2_rn, __hadd)
PAGED_BINARY(__hadd2_sat, __hadd_sat)
PAGED_BINARY(__hsub2, __hsub)
PAGED_BINARY(__hsub2_rn, __hsub)
PAGED_BINARY(__hsub2_sat, __hsub_sat)
PAGED_BINARY(__hmul2, __hmul)
PAGED_BINARY(__hmul2_rn, __hmul)
PAGED_BINARY(__hmul2_sat, __hmul_sat)
PAGED_BINARY(__h2div, __hdiv)
PAGED_BINARY(__hmax2, __hmax)
PAGED_BINARY(__hmax2_nan, __hmax_nan)
PAGED_BINARY(__hmin2, __hmin)
PAGED_BINARY(__hmin2_nan, __hmin_nan)
#undef PAGED_BINARY

#define PAGED_FUSED(name, scalar)                                                                 \
    inline PAGED_T2 name(PAGED_T2 a, PAGED_T2 b, PAGED_T2 c) {                                    \
        return {scalar(a.x, b.x, c.x), scalar(a.y, b.y, c.y)};                                    \
    }

PAGED_FUSED(__hfma2, __hfma)
PAGED_FUSED(__hfma2_sat, __hfma_sat)
PAGED_FUSED(__hfma2_relu, __hfma_relu)
#undef PAGED_FUSED

// Complex a * b + c, real parts in x.
inline PAGED_T2 __hcmadd(PAGED_T2 a, PAGED_T2 b, PAGED_T2 c) {
    const PAGED_T real = __hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x));
    const PAGED_T imaginary = __hfma(a.y, b.x, __hfma(a.x, b.y, c.y));
    return {real, imaginary};
}

// Of one relation: 1.0 or 0.0 a lane, all bits of a lane, and whether both lanes hold.
#define PAGED_RELATION(relation)                                                                  \
    inline PAGED_T2 __h##relation##2(PAGED_T2 a, PAGED_T2 b) {                                    \
        const bool x = __h##relation(a.x, b.x), y = __h##relation(a.y, b.y);                      \
        return {PAGED_T(x ? 1.0f : 0.0f), PAGED_T(y ? 1.0f : 0.0f)};                              \
    }                                                                                             \
    inline unsigned __h##relation##2_mask(PAGED_T2 a, PAGED_T2 b) {                               \
        const bool x = __h##relation(a.x, b.x), y = __h##relation(a.y, b.y);                      \
        return (x ? 0x0000FFFFu : 0u) | (y ? 0xFFFF0000u : 0u);                                   \
    }                                                                                             \
    inline bool __hb##relation##2(PAGED_T2 a, PAGED_T2 b) {                                       \
        return __h##relation(a.x, b.x) && __h##relation(a.y, b.y);                                \
    }

PAGED_RELATION(eq)
PAGED_RELATION(ne)
PAGED_RELATION(le)
PAGED_RELATION(ge)
PAGED_RELATION(lt)
PAGED_RELATION(gt)
PAGED_RELATION(equ)
PAGED_RELATION(neu)
PAGED_RELATION(leu)
PAGED_RELATION(geu)
PAGED_RELATION(ltu)
PAGED_RELATION(gtu)
#undef PAGED_RELATION

inline PAGED_T2 __hisnan2(PAGED_T2 a) {
    return {PAGED_T(__hisnan(a.x) ? 1.0f : 0.0f), PAGED_T(__hisnan(a.y) ? 1.0f : 0.0f)};
}

#define PAGED_OPERATOR(symbol, function)                                                          \
    inline PAGED_T2 operator symbol(const PAGED_T2& a, const PAGED_T2& b) {                       \
        return function(a, b);                                                                    \
    }                                                                                             \
    inline PAGED_T2& operator symbol##=(PAGED_T2& a, const PAGED_T2& b) {                         \
        return a = function(a, b);                                                                \
    }

PAGED_OPERATOR(+, __hadd2)
PAGED_OPERATOR(-, __hsub2)
PAGED_OPERATOR(*, __hmul2)
PAGED_OPERATOR(/, __h2div)
#undef PAGED_OPERATOR

#define PAGED_RELATION(symbol, function)                                                          \
    inline bool operator symbol(const PAGED_T2& a, const PAGED_T2& b) {                           \
        return function(a, b);                                                                    \
    }

PAGED_RELATION(==, __hbeq2)
PAGED_RELATION(!=, __hbneu2)
PAGED_RELATION(<, __hblt2)
PAGED_RELATION(>, __hbgt2)
PAGED_RELATION(<=, __hble2)
PAGED_RELATION(>=, __hbge2)
#undef PAGED_RELATION

inline PAGED_T2 operator+(const PAGED_T2& a) {
    return a;
}

inline PAGED_T2 operator-(const PAGED_T2& a) {
    return __hneg2(a);
}

inline PAGED_T2& operator++(PAGED_T2& a) {
    return a = {a.x + PAGED_T(1.0f), a.y + PAGED_T(1.0f)};
}

inline PAGED_T2& operator--(PAGED_T2& a) {
    return a = {a.x - PAGED_T(1.0f), a.y - PAGED_T(1.0f)};
}

inline PAGED_T2 operator++(PAGED_T2& a, int) {
    const PAGED_T2 before = a;
    ++a;
    return before;
}

inline PAGED_T2 operator--(PAGED_T2& a, int) {
    const PAGED_T2 before = a;
    --a;
    return before;
}
