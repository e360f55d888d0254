// The interpreter's half of kernels_cu/include/portable.cuh, which documents all of it.
#pragma once

#include "../collective.h"
#include "../numerics/alignment.h"
#include "../numerics/fragments.h"

namespace paged {

using paged_interpret::require_aligned;
using paged_interpret::Site;

template <int bytes>
inline void cp_async(void* shared_dst, const void* global_src, int src_bytes = bytes,
                     Site site = Site::here()) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
    require_aligned(shared_dst, bytes, "cp_async to a misaligned address", site);
    require_aligned(global_src, bytes, "cp_async from a misaligned address", site);
    if (src_bytes < 0 || src_bytes > bytes) {
        paged_interpret::fail_at("cp_async of a negative or too large number of bytes", site);
    }
    paged_interpret::async_copy(shared_dst, global_src, bytes, src_bytes);
}

inline void cp_async_commit() {
    paged_interpret::async_commit();
}

template <int groups_left>
inline void cp_async_wait() {
    paged_interpret::async_wait(groups_left);
}

namespace detail {

template <int num_matrices, bool is_transposed>
inline void ldmatrix(unsigned (&d)[num_matrices], const void* row, Site site) {
    using namespace paged_interpret;
    using Rows = const void*;
    if (lane_index() < 8 * num_matrices) {
        require_aligned(row, 16, "ldmatrix from a misaligned row", site);
    }
    const auto load = [](const Rows(&rows)[32], Registers<num_matrices>(&out)[32], unsigned) {
        for (int matrix = 0; matrix < num_matrices; ++matrix) {
            load_matrix<is_transposed>(rows + 8 * matrix, out, matrix);
        }
    };
    const auto loaded = warp_collective<Rows, Registers<num_matrices>>(kFullMask, row, load, site);
    for (int matrix = 0; matrix < num_matrices; ++matrix) d[matrix] = loaded.words[matrix];
}

}  // namespace detail

inline void ldmatrix_x4(unsigned (&d)[4], const void* row, Site site = Site::here()) {
    detail::ldmatrix<4, false>(d, row, site);
}

inline void ldmatrix_x4_trans(unsigned (&d)[4], const void* row, Site site = Site::here()) {
    detail::ldmatrix<4, true>(d, row, site);
}

inline void ldmatrix_x2(unsigned (&d)[2], const void* row, Site site = Site::here()) {
    detail::ldmatrix<2, false>(d, row, site);
}

inline void ldmatrix_x2_trans(unsigned (&d)[2], const void* row, Site site = Site::here()) {
    detail::ldmatrix<2, true>(d, row, site);
}

inline unsigned movmatrix_trans(unsigned fragment, Site site = Site::here()) {
    using namespace paged_interpret;
    return warp_collective<unsigned, unsigned>(kFullMask, fragment, transpose_fragment, site);
}

template <class T>
inline void mma_m16n8k16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                         Site site = Site::here()) {
    using namespace paged_interpret;
    MmaInput input;
    __builtin_memcpy(input.a, a, sizeof input.a);
    __builtin_memcpy(input.b, b, sizeof input.b);
    __builtin_memcpy(input.c, d, sizeof input.c);
    const auto output =
        warp_collective<MmaInput, MmaOutput>(kFullMask, input, multiply_fragments<T>, site);
    __builtin_memcpy(d, output.d, sizeof output.d);
}

inline float exp2_approx(float x) {
    return __builtin_exp2f(x);
}

template <int N, class T>
inline Vector<T, N> load_vector(const T* address, Site site = Site::here()) {
    require_aligned(address, N * sizeof(T), "load_vector at a misaligned address", site);
    return *reinterpret_cast<const Vector<T, N>*>(address);
}

template <class T, int N>
inline void store_vector(T* address, const Vector<T, N>& vector, Site site = Site::here()) {
    require_aligned(address, N * sizeof(T), "store_vector at a misaligned address", site);
    *reinterpret_cast<Vector<T, N>*>(address) = vector;
}

namespace detail {

// The butterfly of the device with one rendezvous: an order of additions, hence bits, like there.
template <int width, class Combine>
inline float warp_reduce(float value, Combine combine, Site site) {
    static_assert(width <= kWarpSize && (width & (width - 1)) == 0, "groups divide the warp");
    const auto reduce = [combine](const float(&in)[32], float(&out)[32], unsigned) {
        __builtin_memcpy(out, in, sizeof out);
        for (int distance = 1; distance < width; distance *= 2) {
            for (int low = 0; low < kWarpSize; ++low) {
                if (low & distance) continue;
                out[low] = out[low | distance] = combine(out[low], out[low | distance]);
            }
        }
    };
    return paged_interpret::warp_collective<float, float>(kFullWarp, value, reduce, site);
}

}  // namespace detail

template <int width = kWarpSize>
inline float warp_sum(float value, Site site = Site::here()) {
    return detail::warp_reduce<width>(value, [](float a, float b) { return a + b; }, site);
}

template <int width = kWarpSize>
inline float warp_max(float value, Site site = Site::here()) {
    return detail::warp_reduce<width>(
        value, [](float a, float b) { return __builtin_fmaxf(a, b); }, site);
}

}  // namespace paged
