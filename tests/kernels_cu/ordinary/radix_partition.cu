// Stable partition of each block's 128 keys by one 4-bit digit, ranked with match_any: the inner
// step of a radix sort.
#include <cuda_runtime.h>

constexpr int kRadixBits = 4;
constexpr int kRadix = 1 << kRadixBits;
constexpr int kKeys = 128;

template <int kShift>
__global__ void __launch_bounds__(kKeys)
    radix_partition(const unsigned* keys_in, unsigned* keys_out, int n) {
    __shared__ int counts[kKeys / 32][kRadix];
    __shared__ int starts[kRadix + 1];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int i = blockIdx.x * kKeys + threadIdx.x;
    const bool exists = i < n;
    const unsigned key = exists ? keys_in[i] : 0xffffffffu;
    const int digit = exists ? (key >> kShift) & (kRadix - 1) : kRadix;

    for (int d = lane; d < kRadix; d += 32) counts[warp][d] = 0;
    __syncwarp();
    const unsigned peers = __match_any_sync(0xffffffffu, digit);
    const int rank_in_warp = __popc(peers & ((1u << lane) - 1));
    if (exists && rank_in_warp == 0) counts[warp][digit] = __popc(peers);
    __syncthreads();

    if (threadIdx.x < kRadix) {
        int total = 0;
        for (int w = 0; w < kKeys / 32; ++w) {
            const int count = counts[w][threadIdx.x];
            counts[w][threadIdx.x] = total;
            total += count;
        }
        const unsigned digits = (1u << kRadix) - 1;
        int start = total;
        for (int delta = 1; delta < kRadix; delta *= 2) {
            const int below = __shfl_up_sync(digits, start, delta, kRadix);
            if (threadIdx.x >= delta) start += below;
        }
        starts[threadIdx.x + 1] = start;
        if (threadIdx.x == 0) starts[0] = 0;
    }
    __syncthreads();
    if (exists) {
        keys_out[blockIdx.x * kKeys + starts[digit] + counts[warp][digit] + rank_in_warp] = key;
    }
}
