// Every conversion of 8-bit floating point. FORMAT_E4M3 chooses that, FORMAT_E5M2 the other.
#include <cuda_fp8.h>

#ifdef FORMAT_E4M3
using T = __nv_fp8_e4m3;
using T2 = __nv_fp8x2_e4m3;
using T4 = __nv_fp8x4_e4m3;
#define FORMAT __NV_E4M3
#else
using T = __nv_fp8_e5m2;
using T2 = __nv_fp8x2_e5m2;
using T4 = __nv_fp8x4_e5m2;
#define FORMAT __NV_E5M2
#endif

__device__ int thread_index() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void widen(const T* in, float* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    const float rows[] = {
        static_cast<float>(in[i]),
        static_cast<float>(static_cast<double>(in[i])),
        __half2float(static_cast<__half>(in[i])),
        __bfloat162float(static_cast<__nv_bfloat16>(in[i])),
        __half2float(__nv_cvt_fp8_to_halfraw(in[i].__x, FORMAT)),
    };
    for (int row = 0; row < 5; ++row) out[row * n + i] = rows[row];
}

// Constructors saturate; the functions do as they are told.
__global__ void narrow(const float* in, unsigned char* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    out[i] = T(in[i]).__x;
    out[n + i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, FORMAT);
    out[2 * n + i] = __nv_cvt_float_to_fp8(in[i], __NV_NOSAT, FORMAT);
}

__global__ void narrow_double(const double* in, unsigned char* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    out[i] = T(in[i]).__x;
    out[n + i] = __nv_cvt_double_to_fp8(in[i], __NV_SATFINITE, FORMAT);
    out[2 * n + i] = __nv_cvt_double_to_fp8(in[i], __NV_NOSAT, FORMAT);
}

__global__ void narrow_half(const __half* in, unsigned char* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    out[i] = T(in[i]).__x;
    out[n + i] = __nv_cvt_halfraw_to_fp8(in[i], __NV_SATFINITE, FORMAT);
    out[2 * n + i] = __nv_cvt_halfraw_to_fp8(in[i], __NV_NOSAT, FORMAT);
}

__global__ void narrow_bfloat16(const __nv_bfloat16* in, unsigned char* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    out[i] = T(in[i]).__x;
    out[n + i] = __nv_cvt_bfloat16raw_to_fp8(in[i], __NV_SATFINITE, FORMAT);
    out[2 * n + i] = __nv_cvt_bfloat16raw_to_fp8(in[i], __NV_NOSAT, FORMAT);
}

__global__ void integers(const T* in, int* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    const int whole = static_cast<int>(in[i]);
    out[i] = whole;
    out[n + i] = static_cast<signed char>(in[i]);
    out[2 * n + i] = static_cast<unsigned short>(in[i]);
    out[3 * n + i] = T(whole).__x;
    out[4 * n + i] = T(static_cast<unsigned long long>(whole)).__x;
    out[5 * n + i] = static_cast<bool>(in[i]);
}

// One bit a way to make a pair or a quadruple: all ones where each lane is what the scalar is.
__global__ void vectors(const float4* in, unsigned* out, int n) {
    const int i = thread_index();
    if (i >= n) return;
    const float4 a = in[i];
    const unsigned x = T(a.x).__x, y = T(a.y).__x, z = T(a.z).__x, w = T(a.w).__x;
    const unsigned low = x | y << 8, high = z | w << 8, all = low | high << 16;
    const float2 xy = make_float2(a.x, a.y), zw = make_float2(a.z, a.w);
    const __half2 half_xy = __float22half2_rn(xy), half_zw = __float22half2_rn(zw);
    const __nv_bfloat162 bf_xy = __float22bfloat162_rn(xy), bf_zw = __float22bfloat162_rn(zw);
    T2 pair;
    T4 four;
    pair.__x = static_cast<__nv_fp8x2_storage_t>(low);
    four.__x = all;
    const auto of = [](float v) { return T(v).__x; };
    const auto join = [&](float2 v) { return of(v.x) | of(v.y) << 8; };
    const float2 back = static_cast<float2>(pair);
    const float4 back4 = static_cast<float4>(four);
    const __half2 back_half = static_cast<__half2>(pair);
    const __half2 raw_half = __nv_cvt_fp8x2_to_halfraw2(pair.__x, FORMAT);
    const double2 double_xy = make_double2(a.x, a.y);
    const bool holds[] = {
        T2(xy).__x == low,
        T2(double_xy).__x == low,
        T2(half_xy).__x == join(__half22float2(half_xy)),
        T2(bf_xy).__x == join(__bfloat1622float2(bf_xy)),
        T4(a).__x == all,
        T4(make_double4(a.x, a.y, a.z, a.w)).__x == all,
        T4(half_xy, half_zw).__x == (T2(half_xy).__x | T2(half_zw).__x << 16),
        T4(bf_xy, bf_zw).__x == (T2(bf_xy).__x | T2(bf_zw).__x << 16),
        join(back) == low,
        join(make_float2(back4.x, back4.y)) == low,
        join(make_float2(back4.z, back4.w)) == high,
        join(__half22float2(back_half)) == low,
        join(__half22float2(raw_half)) == low,
        __nv_cvt_float2_to_fp8x2(xy, __NV_SATFINITE, FORMAT) == low,
        __nv_cvt_double2_to_fp8x2(double_xy, __NV_SATFINITE, FORMAT) == low,
        __nv_cvt_halfraw2_to_fp8x2(half_xy, __NV_SATFINITE, FORMAT) == T2(half_xy).__x,
        __nv_cvt_bfloat16raw2_to_fp8x2(bf_xy, __NV_SATFINITE, FORMAT) == T2(bf_xy).__x,
    };
    for (int bit = 0; bit < 17; ++bit) out[i] |= static_cast<unsigned>(holds[bit]) << bit;
}
