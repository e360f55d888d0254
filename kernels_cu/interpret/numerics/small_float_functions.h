// Body of cuda_fp16.h and cuda_bf16.h: elementary functions. Macros:
// small_float_type.h.
//
// Functions are those of the host's binary32, rounded once: within the device's own error.

#define PAGED_FUNCTION(name, expression)                                                          \
    inline PAGED_T h##name(PAGED_T a) {                                                           \
        const float value = a;                                                                    \
        return (expression);                                                                      \
    }                                                                                             \
    inline PAGED_T2 h2##name(PAGED_T2 a) {                                                        \
        return {h##name(a.x), h##name(a.y)};                                                      \
    }

PAGED_FUNCTION(sqrt, __builtin_sqrtf(value))
PAGED_FUNCTION(rsqrt, 1.0f / __builtin_sqrtf(value))
PAGED_FUNCTION(rcp, 1.0f / value)
PAGED_FUNCTION(exp, __builtin_expf(value))
PAGED_FUNCTION(exp2, __builtin_exp2f(value))
PAGED_FUNCTION(exp10, static_cast<float>(__builtin_pow(10.0, value)))
PAGED_FUNCTION(log, __builtin_logf(value))
PAGED_FUNCTION(log2, __builtin_log2f(value))
PAGED_FUNCTION(log10, __builtin_log10f(value))
PAGED_FUNCTION(sin, __builtin_sinf(value))
PAGED_FUNCTION(cos, __builtin_cosf(value))
PAGED_FUNCTION(tanh, __builtin_tanhf(value))
PAGED_FUNCTION(tanh_approx, __builtin_tanhf(value))
PAGED_FUNCTION(floor, __builtin_floorf(value))
PAGED_FUNCTION(ceil, __builtin_ceilf(value))
PAGED_FUNCTION(trunc, __builtin_truncf(value))
PAGED_FUNCTION(rint, __builtin_nearbyintf(value))
#undef PAGED_FUNCTION
