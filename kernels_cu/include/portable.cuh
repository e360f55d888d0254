// What CUDA C++ has no name for, one spelling for every backend: asynchronous copies to shared
// memory, matrix fragments and their products, vector loads, warp reductions, fp8 to half.
//
// On a device these are PTX instructions (portable_ptx.cuh, sm_80 and up); in the interpreter they
// are emulated (portable_interpret.h there), with the same layouts and rules:
//
// * Every lane of the warp calls ldmatrix, movmatrix, mma and warp_* at the same place.
// * cp_async: both addresses are multiples of the size. The destination is undefined until the
//   copying thread has waited for the group, and other threads see it after a barrier.
// * ldmatrix: a row is 16 bytes, its address a multiple of 16.
//
// Fragments of 8x8 matrices of 16-bit elements: a 32-bit register of lane l holds row l / 4,
// columns 2 * (l % 4) and the next, the lower column in the low half.
//
//            column  0 1   2 3   4 5   6 7
//     row 0          l0    l1    l2    l3          ldmatrix_x4: lane l gives the address of row
//     row 1          l4    l5    l6    l7          l % 8 of matrix l / 8, and register i receives
//     ...                                          matrix i (x2: lanes 0..15, two matrices).
//     row 7          l28   l29   l30   l31         _trans: register i receives it transposed.
//
// mma_m16n8k16: d[16 x 8] += a[16 x 16] * b[16 x 8]; with g = l / 4 and t = 2 * (l % 4):
//
//     a[0] rows g     columns t, t+1        b[0] rows t, t+1      column g      d[0] (g,     t)
//     a[1] rows g + 8 columns t, t+1        b[1] rows t+8, t+9    column g      d[1] (g,     t+1)
//     a[2] rows g     columns t+8, t+9                                          d[2] (g + 8, t)
//     a[3] rows g + 8 columns t+8, t+9                                          d[3] (g + 8, t+1)
//
// So a is the four 8x8 matrices (top left, bottom left, top right, bottom right) as ldmatrix_x4
// loads them from row-major storage, and b the two (top, bottom) as ldmatrix_x2_trans loads them
// from row-major [k][n] storage, or ldmatrix_x2 from [n][k] storage.
//
// Sums of mma: products are exact in binary32 (bfloat16 may overflow or underflow). The order of
// additions is the hardware's own on a device, and d, then k = 0, 1, .. 15 in the interpreter,
// each rounded to nearest even.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace paged {

constexpr int kWarpSize = 32;
constexpr unsigned kFullWarp = 0xffffffffu;

// N elements that one instruction loads or stores.
template <class T, int N>
struct alignas(N * sizeof(T)) Vector {
    static_assert(N * sizeof(T) <= 16 && (N & (N - 1)) == 0, "one access moves 1 .. 16 bytes");
    T data[N];

    __device__ __forceinline__ T& operator[](int index) { return data[index]; }
    __device__ __forceinline__ const T& operator[](int index) const { return data[index]; }
};

// The largest vector of T that one instruction moves.
template <class T>
constexpr int kVectorWidth = 16 / static_cast<int>(sizeof(T));

}  // namespace paged

#ifdef PAGED_INTERPRET
#include "portable_interpret.h"
#else
#include "portable_ptx.cuh"
#endif

namespace paged {

// Two e4m3 in a half2, the low byte first; NaN stays NaN. Without the instruction of sm_89: the
// seven magnitude bits, moved to half's exponent and mantissa, are the number over 2^8.
__device__ __forceinline__ __half2 e4m3x2_to_half2_by_bits(unsigned short pair) {
    constexpr unsigned kLaneOne = 0x00010001u;
    const unsigned bytes = (pair & 0xFFu) << 8 | (pair & 0xFF00u) << 16;
    const unsigned magnitude = (bytes & 0x7F00u * kLaneOne) >> 1;
    const unsigned scaled = (bytes & 0x8000u * kLaneOne) | magnitude;
    const unsigned is_nan = (magnitude + 0x0080u * kLaneOne) >> 14 & kLaneOne;
    const __half_raw two_to_the_8th = {0x5C00};
    const __half2_raw packed = {static_cast<unsigned short>(scaled),
                                static_cast<unsigned short>(scaled >> 16)};
    const __half2_raw product = __hmul2(packed, __half2(two_to_the_8th, two_to_the_8th));
    const unsigned nan_bits = is_nan * 0x7FFFu;
    return __half2_raw{static_cast<unsigned short>(product.x | nan_bits),
                       static_cast<unsigned short>(product.y | nan_bits >> 16)};
}

// Two e4m3 in a half2, the low byte first, the fastest way that the device has.
__device__ __forceinline__ __half2 e4m3x2_to_half2(unsigned short pair) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    return e4m3x2_to_half2_by_instruction(pair);
#else
    return e4m3x2_to_half2_by_bits(pair);
#endif
}

}  // namespace paged
