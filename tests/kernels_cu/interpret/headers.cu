// Headers of CUDA that kernels include for a type or two: complex numbers, bits, error codes.
#include <cuComplex.h>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/cstdint>

static_assert(cuda::std::bit_cast<unsigned>(1.0f) == 0x3f800000u, "bit_cast");
static_assert(cuda::std::popcount(0xf0f0u) == 8, "popcount");
static_assert(cuda::std::countl_zero(cuda::std::uint16_t{1}) == 15, "countl_zero");
static_assert(cuda::std::countl_zero(0ull) == 64, "countl_zero of 0");
static_assert(cuda::std::countr_zero(8u) == 3, "countr_zero");
static_assert(cuda::std::countr_zero(cuda::std::uint8_t{0}) == 8, "countr_zero of 0");
static_assert(cuda::std::countl_one(cuda::std::uint8_t{0xe0}) == 3, "countl_one");
static_assert(cuda::std::countr_one(7u) == 3, "countr_one");
static_assert(cuda::std::bit_width(9u) == 4, "bit_width");
static_assert(cuda::std::has_single_bit(64u) && !cuda::std::has_single_bit(0u), "has_single_bit");
static_assert(cuda::std::bit_floor(9u) == 8u && cuda::std::bit_floor(0u) == 0u, "bit_floor");
static_assert(cuda::std::bit_ceil(9u) == 16u && cuda::std::bit_ceil(0u) == 1u, "bit_ceil");
static_assert(cuda::std::rotl(0x80000001u, 4) == 0x18u, "rotl");
static_assert(cuda::std::rotr(0x18u, 36) == 0x80000001u, "rotr");

// Rows of pairs: sum, difference, product, quotient, fused, conjugate; then the length.
template <class Complex, class Real>
__device__ void write_rows(Complex* out, int n, int i, Complex sum, Complex difference,
                           Complex product, Complex quotient, Complex fused, Complex conjugate,
                           Real length) {
    const Complex rows[] = {sum, difference, product, quotient, fused, conjugate};
    for (int row = 0; row < 6; ++row) out[row * n + i] = rows[row];
    out[6 * n + i].x = length;
    out[6 * n + i].y = 0;
}

extern "C" __global__ void complex_floats(const cuComplex* a, const cuFloatComplex* b,
                                          cuFloatComplex* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const cuFloatComplex x = make_cuComplex(cuCrealf(a[i]), cuCimagf(a[i]));
    const cuFloatComplex y = cuComplexDoubleToFloat(make_cuDoubleComplex(b[i].x, b[i].y));
    write_rows(out, n, i, cuCaddf(x, y), cuCsubf(x, y), cuCmulf(x, y), cuCdivf(x, y),
               cuCfmaf(x, y, x), cuConjf(x), cuCabsf(x));
}

extern "C" __global__ void complex_doubles(const cuDoubleComplex* a, const cuDoubleComplex* b,
                                           cuDoubleComplex* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const cuDoubleComplex x = make_cuDoubleComplex(cuCreal(a[i]), cuCimag(a[i])), y = b[i];
    write_rows(out, n, i, cuCadd(x, y), cuCsub(x, y), cuCmul(x, y), cuCdiv(x, y), cuCfma(x, y, x),
               cuConj(x), cuCabs(x));
}

extern "C" __global__ void complex_classes(const float2* a, const float2* b, float2* out, int n) {
    using Complex = cuda::std::complex<float>;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Complex x(a[i].x, a[i].y), y(b[i].x, b[i].y);
    const auto pair = [](Complex z) { return make_float2(z.real(), z.imag()); };
    write_rows(out, n, i, pair(x + y), pair(x - y), pair(x * y), pair(x / y), pair(x * y + x),
               pair(cuda::std::conj(x)), cuda::std::abs(x));
}

__device__ cudaError_t checked(cudaStream_t stream) {
    return stream == nullptr ? cudaSuccess : cudaErrorInvalidValue;
}
extern "C" __global__ void error_codes(int* out) {
    *out = checked(nullptr) == cudaSuccess && checked(cudaStream_t(out)) != cudaSuccess;
}
