// Every intrinsic of a 16-bit format, one row of results a function. FORMAT_HALF chooses half,
// FORMAT_BFLOAT16 bfloat16.
#ifdef FORMAT_HALF
#include <cuda_fp16.h>
using T = __half;
using T2 = __half2;
#define TAGGED(prefix, suffix) prefix##half##suffix
#define PAIR(prefix, suffix) prefix##half2##suffix
#define TO_PAIR __half2half2
#else
#include <cuda_bf16.h>
using T = __nv_bfloat16;
using T2 = __nv_bfloat162;
#define TAGGED(prefix, suffix) prefix##bfloat16##suffix
#define PAIR(prefix, suffix) prefix##bfloat162##suffix
#define TO_PAIR __bfloat162bfloat162
#endif

__device__ int thread_index() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void widen(const T* in, float* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    out[i] = TAGGED(__, 2float)(in[i]);
    out[n + i] = in[i];
    out[2 * n + i] = static_cast<bool>(in[i]);
}

__global__ void narrow(const float* in, T* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    out[i] = TAGGED(__float2, _rn)(in[i]);
    out[n + i] = TAGGED(__float2, _rz)(in[i]);
    out[2 * n + i] = TAGGED(__float2, _rd)(in[i]);
    out[3 * n + i] = TAGGED(__float2, _ru)(in[i]);
    out[4 * n + i] = TAGGED(__float2, )(in[i]);
    out[5 * n + i] = T(in[i]);
    out[6 * n + i] = in[i];
}

__global__ void narrow_double(const double* in, T* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    out[i] = TAGGED(__double2, )(in[i]);
    out[n + i] = T(in[i]);
}

#define INTEGER_KERNELS(name, integer)                             \
    __global__ void from_##name(const integer* in, T* out, int n) { \
        const int i = thread_index();                              \
        if (i >= n) return;                                        \
        out[i] = TAGGED(__##name##2, _rn)(in[i]);                  \
        out[n + i] = TAGGED(__##name##2, _rz)(in[i]);              \
        out[2 * n + i] = TAGGED(__##name##2, _rd)(in[i]);          \
        out[3 * n + i] = TAGGED(__##name##2, _ru)(in[i]);          \
        out[4 * n + i] = T(in[i]);                                 \
    }                                                              \
    __global__ void to_##name(const T* in, integer* out, int n) {  \
        const int i = thread_index();                              \
        if (i >= n) return;                                        \
        out[i] = TAGGED(__, 2##name##_rn)(in[i]);                  \
        out[n + i] = TAGGED(__, 2##name##_rz)(in[i]);              \
        out[2 * n + i] = TAGGED(__, 2##name##_rd)(in[i]);          \
        out[3 * n + i] = TAGGED(__, 2##name##_ru)(in[i]);          \
        out[4 * n + i] = static_cast<integer>(in[i]);              \
    }

INTEGER_KERNELS(short, short)
INTEGER_KERNELS(ushort, unsigned short)
INTEGER_KERNELS(int, int)
INTEGER_KERNELS(uint, unsigned int)
INTEGER_KERNELS(ll, long long)
INTEGER_KERNELS(ull, unsigned long long)

// Rows of binary(): the name of the scalar form, and that of the pair form.
#define BINARY_FUNCTIONS(row)      \
    row(__hadd, __hadd2)           \
    row(__hsub, __hsub2)           \
    row(__hmul, __hmul2)           \
    row(__hdiv, __h2div)           \
    row(__hadd_rn, __hadd2_rn)     \
    row(__hsub_rn, __hsub2_rn)     \
    row(__hmul_rn, __hmul2_rn)     \
    row(__hadd_sat, __hadd2_sat)   \
    row(__hsub_sat, __hsub2_sat)   \
    row(__hmul_sat, __hmul2_sat)   \
    row(__hmax, __hmax2)           \
    row(__hmin, __hmin2)           \
    row(__hmax_nan, __hmax2_nan)   \
    row(__hmin_nan, __hmin2_nan)   \
    row(operator+, operator+)      \
    row(operator-, operator-)      \
    row(operator*, operator*)      \
    row(operator/, operator/)

__global__ void binary(const T* a, const T* b, T* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    T* cell = out + i;
#define ROW(scalar, pair) *cell = scalar(a[i], b[i]), cell += n;
    BINARY_FUNCTIONS(ROW)
#undef ROW
}

__global__ void binary_pairs(const T2* a, const T2* b, T2* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    T2* cell = out + i;
#define ROW(scalar, pair) *cell = pair(a[i], b[i]), cell += n;
    BINARY_FUNCTIONS(ROW)
#undef ROW
}

__global__ void fused(const T* a, const T* b, const T* c, T* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    out[i] = __hfma(a[i], b[i], c[i]);
    out[n + i] = __hfma_sat(a[i], b[i], c[i]);
    out[2 * n + i] = __hfma_relu(a[i], b[i], c[i]);
}

__global__ void fused_pairs(const T2* a, const T2* b, const T2* c, T2* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    out[i] = __hfma2(a[i], b[i], c[i]);
    out[n + i] = __hfma2_sat(a[i], b[i], c[i]);
    out[2 * n + i] = __hfma2_relu(a[i], b[i], c[i]);
}

#define RELATIONS(row) row(eq, ==) row(ne, !=) row(le, <=) row(ge, >=) row(lt, <) row(gt, >)

__global__ void compare(const T* a, const T* b, unsigned char* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    unsigned char* cell = out + i;
#define ROW(relation, symbol)                             \
    *cell = __h##relation(a[i], b[i]), cell += n;         \
    *cell = __h##relation##u(a[i], b[i]), cell += n;      \
    *cell = a[i] symbol b[i], cell += n;
    RELATIONS(ROW)
#undef ROW
}

// Of each relation and its unordered form: lanes of 1.0, lanes of ones, and both lanes.
__global__ void compare_pairs(const T2* a, const T2* b, unsigned* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    unsigned* cell = out + i;
#define FORMS(name)                                                     \
    *cell = __low2float(__h##name##2(a[i], b[i])), cell += n;           \
    *cell = __high2float(__h##name##2(a[i], b[i])), cell += n;          \
    *cell = __h##name##2_mask(a[i], b[i]), cell += n;                   \
    *cell = __hb##name##2(a[i], b[i]), cell += n;
#define ROW(relation, symbol) FORMS(relation) FORMS(relation##u)
    RELATIONS(ROW)
#undef ROW
#undef FORMS
}

__global__ void unary(const T* in, T* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    T increment = in[i], decrement = in[i];
    ++increment;
    decrement--;
    const T rows[] = {__habs(in[i]), __hneg(in[i]), -in[i],   +in[i],
                      increment,     decrement,     hsqrt(in[i]), hrcp(in[i]),
                      hfloor(in[i]), hceil(in[i]),  htrunc(in[i]), hrint(in[i])};
    for (int row = 0; row < 12; ++row) out[row * n + i] = rows[row];
}

__global__ void functions(const T* in, T* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    const T2 pair = TO_PAIR(in[i]);
    const T rows[] = {hexp(in[i]),   hexp2(in[i]), hexp10(in[i]), hlog(in[i]),  hlog2(in[i]),
                      hlog10(in[i]), hsin(in[i]),  hcos(in[i]),   htanh(in[i]), hrsqrt(in[i])};
    const T2 pairs[] = {h2exp(pair),   h2exp2(pair), h2exp10(pair), h2log(pair),  h2log2(pair),
                        h2log10(pair), h2sin(pair),  h2cos(pair),   h2tanh(pair), h2rsqrt(pair)};
    for (int row = 0; row < 10; ++row) {
        out[row * n + i] = rows[row];
        out[(10 + row) * n + i] = TAGGED(__high2, )(pairs[row]);
    }
}

// One bit a property of packing and unpacking: all ones where all hold.
__global__ void packing(const T* in, unsigned* out, int n) {
    const int i = thread_index();
    if (i + 1 >= n) return;
    const auto bits = [](T a) { return TAGGED(__, _as_ushort)(a); };
    const auto is = [&](T2 a, T x, T y) { return bits(a.x) == bits(x) && bits(a.y) == bits(y); };
    const T a = in[i], b = in[i + 1];
    const T2 ab = TAGGED(__halves2, 2)(a, b);
    const float2 wide = TAGGED(__, 22float2)(ab);
    const T again_a = TAGGED(__float2, )(wide.x), again_b = TAGGED(__float2, )(wide.y);
    const bool holds[] = {
        is(ab, a, b),
        is(TAGGED(make_, 2)(a, b), a, b),
        is(T2(a, b), a, b),
        is(TO_PAIR(a), a, a),
        is(PAIR(__low2, )(ab), a, a),
        is(PAIR(__high2, )(ab), b, b),
        is(PAIR(__lows2, )(ab, TO_PAIR(b)), a, b),
        is(PAIR(__highs2, )(ab, TO_PAIR(a)), b, a),
        is(__lowhigh2highlow(ab), b, a),
        bits(TAGGED(__low2, )(ab)) == bits(a) && bits(TAGGED(__high2, )(ab)) == bits(b),
        is(PAIR(__floats2, _rn)(wide.x, wide.y), again_a, again_b),
        is(PAIR(__float22, _rn)(wide), again_a, again_b),
        is(PAIR(__float2, _rn)(wide.x), again_a, again_a),
        bits(TAGGED(__ushort_as_, )(bits(a))) == bits(a),
        bits(TAGGED(__short_as_, )(TAGGED(__, _as_short)(a))) == bits(a),
        __hisnan(a) == (wide.x != wide.x),
    };
    for (int bit = 0; bit < 16; ++bit) out[i] |= static_cast<unsigned>(holds[bit]) << bit;
}
