// Lanes in groups of 4, 8 and 16: shuffles with a width, wrapping and out-of-range sources,
// partial masks in diverged branches, votes, and volatile shared memory with __syncwarp.
#define FULL 0xffffffffu

__device__ int reverse_in_groups_of_8(int value) {
    return __shfl_sync(FULL, value, 7 - (threadIdx.x & 7), 8);
}

// careful: sources beyond the group leave the value as it is.
__device__ int neighbours_in_groups_of_16(int value) {
    const int above = __shfl_down_sync(FULL, value, 1, 16);
    const int below = __shfl_up_sync(FULL, value, 1, 16);
    const int wrapped = __shfl_sync(FULL, value, (threadIdx.x & 15) + 17, 16);
    return above * 10000 + below * 100 + wrapped;
}

__device__ int diverged(int value) {
    const unsigned lane = threadIdx.x & 31;
    const unsigned odd = 0xaaaaaaaau;
    if (lane & 1) {
        value = __shfl_xor_sync(odd, value, 2);
        if (lane >= 16) value += 100 * __popc(__ballot_sync(odd & 0xffff0000u, value > 20));
    } else {
        switch (lane % 4) {
            case 0: value += __reduce_add_sync(0x11111111u, value); break;
            default: value -= __any_sync(0x44444444u, value == 31); break;
        }
    }
    __syncwarp();
    return value + 1000 * __all_sync(FULL, value > -1000);
}

// Sum of each half warp, the way it was written before there were shuffles.
__device__ int half_warp_sum(volatile int* scratch, int value) {
    const int lane = threadIdx.x & 15;
    scratch[lane] = value;
    __syncwarp();
    for (int stride = 8; stride; stride >>= 1) {
        const int other = lane < stride ? scratch[lane + stride] : 0;
        __syncwarp();
        if (lane < stride) scratch[lane] = scratch[lane] + other;
        __syncwarp();
    }
    return scratch[0];
}

// Lanes with equal keys elect their lowest lane, which counts for all.
__device__ int count_of_equal(int key) {
    const unsigned peers = __match_any_sync(__activemask(), key);
    const int leader = __ffs(peers) - 1;
    int count = 0;
    if ((threadIdx.x & 31) == leader) count = __popc(peers);
    return __shfl_sync(peers, count, leader);
}

extern "C" __global__ void subwarps(const int* in, int* out, long long* wide) {
    __shared__ volatile int scratch[4][16];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = gridDim.x * blockDim.x;
    const int value = in[i];
    out[i] = reverse_in_groups_of_8(value);
    out[n + i] = neighbours_in_groups_of_16(value);
    out[2 * n + i] = diverged(value);
    out[3 * n + i] = half_warp_sum(scratch[threadIdx.x / 16], value);
    out[4 * n + i] = count_of_equal(value % 5);
    int is_uniform;
    out[5 * n + i] = __match_all_sync(FULL, value / 64, &is_uniform) != 0;
    out[5 * n + i] += 2 * is_uniform;
    // 64-bit values travel whole
    wide[i] = __shfl_xor_sync(FULL, (static_cast<long long>(value) << 40) | i, 4, 8);
}
