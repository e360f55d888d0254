// The device's half of portable.cuh, which documents all of it: PTX for sm_80 and up.
#pragma once

namespace paged {

// An address in shared memory as PTX takes it.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies src_bytes of `bytes` from global to shared memory and zeroes the rest.
template <int bytes>
__device__ __forceinline__ void cp_async(void* shared_dst, const void* global_src,
                                         int src_bytes = bytes) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
    if constexpr (bytes == 16) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
                         shared_address(shared_dst)),
                     "l"(__cvta_generic_to_global(global_src)), "r"(src_bytes)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(
                         shared_address(shared_dst)),
                     "l"(__cvta_generic_to_global(global_src)), "n"(bytes), "r"(src_bytes)
                     : "memory");
    }
}

// Makes this thread's copies since the last commit a group.
__device__ __forceinline__ void cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `groups_left` of this thread's newest groups are still on their way.
template <int groups_left>
__device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(groups_left) : "memory");
}

// Four 8x8 matrices from shared memory.
__device__ __forceinline__ void ldmatrix_x4(unsigned (&d)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// Four 8x8 matrices, each transposed.
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&d)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// Two 8x8 matrices, whose rows lanes 0..15 name.
__device__ __forceinline__ void ldmatrix_x2(unsigned (&d)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(shared_address(row))
                 : "memory");
}

// Two 8x8 matrices, each transposed.
__device__ __forceinline__ void ldmatrix_x2_trans(unsigned (&d)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(shared_address(row))
                 : "memory");
}

// The fragment of a transposed 8x8 matrix.
__device__ __forceinline__ unsigned movmatrix_trans(unsigned fragment) {
    unsigned transposed;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                 : "=r"(transposed)
                 : "r"(fragment));
    return transposed;
}

// d += a * b, for T = __half or __nv_bfloat16.
template <class T>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]);

template <>
__device__ __forceinline__ void mma_m16n8k16<__half>(float (&d)[4], const unsigned (&a)[4],
                                                     const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <>
__device__ __forceinline__ void mma_m16n8k16<__nv_bfloat16>(float (&d)[4], const unsigned (&a)[4],
                                                            const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// 2^x within two units in the last place; subnormal numbers are taken and given as zero.
__device__ __forceinline__ float exp2_approx(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
// Two e4m3 in a half2, the low byte first, by the instruction of sm_89.
__device__ __forceinline__ __half2 e4m3x2_to_half2_by_instruction(unsigned short pair) {
    unsigned packed;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(packed) : "h"(pair));
    return __half2_raw{static_cast<unsigned short>(packed),
                       static_cast<unsigned short>(packed >> 16)};
}
#endif

// N elements at an address that is a multiple of their size.
template <int N, class T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* address) {
    return *reinterpret_cast<const Vector<T, N>*>(address);
}

// Writes N elements to an address that is a multiple of their size.
template <class T, int N>
__device__ __forceinline__ void store_vector(T* address, const Vector<T, N>& vector) {
    *reinterpret_cast<Vector<T, N>*>(address) = vector;
}

// The sum over aligned groups of `width` lanes, in each of them: a butterfly of neighbours first.
template <int width = kWarpSize>
__device__ __forceinline__ float warp_sum(float value) {
    static_assert(width <= kWarpSize && (width & (width - 1)) == 0, "groups divide the warp");
#pragma unroll
    for (int distance = 1; distance < width; distance *= 2) {
        value += __shfl_xor_sync(kFullWarp, value, distance);
    }
    return value;
}

// The maximum over aligned groups of `width` lanes, in each of them; NaN gives way to numbers.
template <int width = kWarpSize>
__device__ __forceinline__ float warp_max(float value) {
    static_assert(width <= kWarpSize && (width & (width - 1)) == 0, "groups divide the warp");
#pragma unroll
    for (int distance = 1; distance < width; distance *= 2) {
        value = fmaxf(value, __shfl_xor_sync(kFullWarp, value, distance));
    }
    return value;
}

}  // namespace paged
