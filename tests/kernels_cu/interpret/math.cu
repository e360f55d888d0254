// Device mathematics and integer intrinsics, one row of results a function.
#include <math_constants.h>
#include <type_traits>

// C++ names without std:: have overloads for float, and abs for integers too.
static_assert(std::is_same<decltype(exp(1.0f)), float>::value, "exp of float");
static_assert(std::is_same<decltype(sqrt(1.0f)), float>::value, "sqrt of float");
static_assert(std::is_same<decltype(pow(1.0f, 2.0f)), float>::value, "pow of float");
static_assert(std::is_same<decltype(rsqrt(1.0f)), float>::value, "rsqrt of float");
static_assert(std::is_same<decltype(abs(1.0f)), float>::value, "abs of float");
static_assert(std::is_same<decltype(abs(1ll)), long long>::value, "abs of long long");
static_assert(std::is_same<decltype(min(1u, 1)), unsigned>::value, "min of mixed signs");
static_assert(std::is_same<decltype(max(1.0f, 1.0)), double>::value, "max of mixed sizes");

__device__ int thread_index() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ float sine(float x) {
    float s, c;
    __sincosf(x, &s, &c);
    return s;
}

__device__ float cosine_pi(float x) {
    float s, c;
    sincospif(x, &s, &c);
    return c;
}

__global__ void unary(const float* in, float* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    const float x = in[i];
    const float rows[] = {
        __expf(x),   __exp10f(x), __logf(x),        __log2f(x),      __log10f(x), __sinf(x),
        __cosf(x),   __tanf(x),   sine(x),          cosine_pi(x),    rsqrtf(x),   rsqrt(x),
        exp2f(x),    exp10f(x),   erff(x),          erfcf(x),        erfinvf(x),  erfcinvf(x),
        normcdff(x), tanhf(x),    normcdfinvf(x),   erfcxf(x),       rcbrtf(x),   __saturatef(x),
        sinpif(x),   log1pf(x),   __frsqrt_rn(x),   exp(x),          fabsf(x),    rintf(x),
    };
    for (int row = 0; row < 30; ++row) out[row * n + i] = rows[row];
}

#define MODES(row, function) \
    row(function##_rn) row(function##_rz) row(function##_rd) row(function##_ru)

// Rows: rn, rz, rd, ru of each function in turn.
template <class Real>
__global__ void directed(const Real* a, const Real* b, const Real* c, Real* out, int n);

#define ROW2(f) *cell = f(a[i], b[i]), cell += n;
#define ROW3(f) *cell = f(a[i], b[i], c[i]), cell += n;
#define ROW1(f) *cell = f(a[i]), cell += n;

template <>
__global__ void directed<float>(const float* a, const float* b, const float* c, float* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    float* cell = out + i;
    MODES(ROW2, __fadd) MODES(ROW2, __fsub) MODES(ROW2, __fmul) MODES(ROW2, __fdiv)
    MODES(ROW3, __fmaf) MODES(ROW1, __frcp) MODES(ROW1, __fsqrt)
}

template <>
__global__ void directed<double>(const double* a, const double* b, const double* c, double* out,
                                 int n) {
    const int i = thread_index();
    if (i >= n) return;
    double* cell = out + i;
    MODES(ROW2, __dadd) MODES(ROW2, __dsub) MODES(ROW2, __dmul) MODES(ROW2, __ddiv)
    MODES(ROW3, __fma) MODES(ROW1, __drcp) MODES(ROW1, __dsqrt)
}

__global__ void to_float(const double* a, float* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    float* cell = out + i;
    MODES(ROW1, __double2float)
}

template <class Integer>
__global__ void from_integer(const Integer* a, float* out, int n);

#define FROM_INTEGER(name, integer)                                                     \
    template <>                                                                         \
    __global__ void from_integer<integer>(const integer* a, float* out, int n) {        \
        const int i = thread_index();                                                   \
        if (i >= n) return;                                                             \
        float* cell = out + i;                                                          \
        MODES(ROW1, __##name##2float)                                                   \
    }

FROM_INTEGER(int, int)
FROM_INTEGER(uint, unsigned int)
FROM_INTEGER(ll, long long)
FROM_INTEGER(ull, unsigned long long)

#define TO_INTEGER(name, real, integer)                                                 \
    __global__ void real##_to_##name(const real* a, integer* out, int n) {              \
        const int i = thread_index();                                                   \
        if (i >= n) return;                                                             \
        integer* cell = out + i;                                                        \
        MODES(ROW1, __##real##2##name)                                                  \
    }

TO_INTEGER(int, float, int)
TO_INTEGER(uint, float, unsigned int)
TO_INTEGER(ll, float, long long)
TO_INTEGER(ull, float, unsigned long long)
TO_INTEGER(int, double, int)
TO_INTEGER(ull, double, unsigned long long)

__global__ void integer(const int* a, const int* b, int* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    const int x = a[i], y = b[i];
    const unsigned u = x, v = y;
    const long long wide = static_cast<long long>(x) << 32 | v;
    const long long other = static_cast<long long>(y) << 32 | u;
    const int rows[] = {
        __clz(x), __clzll(wide), __ffs(x), __ffsll(wide), __popc(u), __popcll(wide),
        static_cast<int>(__brev(u)), static_cast<int>(__brevll(wide) >> 32),
        static_cast<int>(__byte_perm(u, v, 0x7362)),
        static_cast<int>(__funnelshift_l(u, v, u)),
        static_cast<int>(__funnelshift_lc(u, v, u & 63)),
        static_cast<int>(__funnelshift_r(u, v, u)),
        static_cast<int>(__funnelshift_rc(u, v, u & 63)),
        __mul24(x, y), static_cast<int>(__umul24(u, v)), __mulhi(x, y),
        static_cast<int>(__umulhi(u, v)), static_cast<int>(__mul64hi(wide, other)),
        static_cast<int>(__umul64hi(wide, other)),
        static_cast<int>(__sad(x, y, 7)), static_cast<int>(__usad(u, v, 7)),
        __hadd(x, y), __rhadd(x, y), static_cast<int>(__uhadd(u, v)),
        static_cast<int>(__urhadd(u, v)), __dp4a(x, y, 5), static_cast<int>(__dp4a(u, v, 5u)),
        __dp2a_lo(x, y, 5), static_cast<int>(__dp2a_hi(u, v, 5u)),
        min(x, y), max(x, y), static_cast<int>(min(u, y)), static_cast<int>(max(x, v)),
        __float_as_int(__int_as_float(x)), __double2hiint(__hiloint2double(x, y)),
    };
    for (int row = 0; row < 35; ++row) out[row * n + i] = rows[row];
}

#define VIDEO(row) \
    row(__vadd) row(__vsub) row(__vaddss) row(__vaddus) row(__vsubss) row(__vsubus) \
    row(__vmaxs) row(__vmaxu) row(__vmins) row(__vminu) row(__vavgu) row(__vhaddu) \
    row(__vabsdiffu) row(__vcmpeq) row(__vcmpgts) row(__vcmpleu) row(__vsetne) row(__vsads) \
    row(__vsadu)

__global__ void video(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    unsigned* cell = out + i;
#define ROW(f) *cell = f##2(a[i], b[i]), cell += n; *cell = f##4(a[i], b[i]), cell += n;
    VIDEO(ROW)
#undef ROW
    *cell = __vabsss2(a[i]), cell += n;
    *cell = __vnegss4(a[i]);
}

__global__ void extrema(const float* a, const float* b, float* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    const float rows[] = {min(a[i], b[i]), max(a[i], b[i]), fminf(a[i], b[i]), fmaxf(a[i], b[i]),
                          static_cast<float>(min(static_cast<double>(a[i]), b[i]))};
    for (int row = 0; row < 5; ++row) out[row * n + i] = rows[row];
}

__global__ void cached(const float4* in, float4* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    const float4 rows[] = {__ldg(in + i), __ldcg(in + i), __ldca(in + i), __ldcs(in + i)};
    __stcg(out + i, rows[0]);
    __stcs(out + n + i, rows[1]);
    __stwb(out + 2 * n + i, rows[2]);
    __stwt(out + 3 * n + i, rows[3]);
}

__global__ void misaligned(const float* in, float* out, int n) {
    const int i = thread_index();
    if (i == 0) out[0] = __ldg(reinterpret_cast<const float2*>(in + 1)).x;
}

// Rows: lengths of vectors and their reciprocals, then Bessel functions.
__global__ void lengths(const double* a, const double* b, double* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    const double x[] = {a[i], b[i], 1.0, -2.0, 0.5};
    const float y[] = {float(a[i]), float(b[i]), 1.0f, -2.0f, 0.5f};
    const double rows[] = {
        norm(5, x),           rnorm(5, x),           normf(5, y),
        rnormf(5, y),         norm(1, x),            norm3d(x[0], x[1], x[2]),
        cyl_bessel_i0(a[i]),  cyl_bessel_i1(a[i]),   cyl_bessel_i0f(y[0]),
        cyl_bessel_i1f(y[0]),
    };
    for (int row = 0; row < 10; ++row) out[row * n + i] = rows[row];
}
