// Kernels whose threads fail to meet, each in one way. Lines that matter are marked.
#include "../../../kernels_cu/include/portable.cuh"

extern "C" __global__ void barrier_of_half(int* out) {
    if (threadIdx.x < 64) {
        __syncthreads();  // here: barrier_of_half
        out[threadIdx.x] = 1;
    }
}

extern "C" __global__ void barrier_after_end(int* out) {
    if (threadIdx.x >= 64) {
        __syncthreads();  // here: barrier_after_end
        out[threadIdx.x] = 1;
    }
}

extern "C" __global__ void two_barriers(int* out) {
    if (threadIdx.x < 64) {
        __syncthreads();  // here: two_barriers_first
        out[threadIdx.x] = 1;
    } else {
        __syncthreads();  // here: two_barriers_second
        out[threadIdx.x] = 2;
    }
}

extern "C" __global__ void barrier_against_shuffle(int* out) {
    if (threadIdx.x % 32 == 0) {
        __syncthreads();  // here: barrier_against_shuffle
    }
    out[threadIdx.x] = __shfl_sync(0xffffffff, 1, 0);  // here: shuffle_against_barrier
}

extern "C" __global__ void syncwarp_against_barrier(int* out) {
    if (threadIdx.x < 4) {
        __syncwarp();  // here: syncwarp_against_barrier
    }
    __syncthreads();
    out[threadIdx.x] = 1;
}

extern "C" __global__ void shuffles_of_two_lines(int* out) {
    int value = threadIdx.x;
    if (threadIdx.x % 2 == 0) {
        value = __shfl_xor_sync(0xffffffff, value, 1);  // here: shuffle_first
    } else {
        value = __shfl_xor_sync(0xffffffff, value, 2);  // here: shuffle_second
    }
    out[threadIdx.x] = value;
}

extern "C" __global__ void shuffles_of_two_masks(int* out) {
    const unsigned mask = threadIdx.x < 16 ? 0x0001ffffu : 0xffff0000u;
    out[threadIdx.x] = __shfl_sync(mask, 1, 16);
}

extern "C" __global__ void not_in_own_mask(int* out) {
    out[threadIdx.x] = __ballot_sync(0x0000ffffu, 1);  // here: not_in_own_mask
}

extern "C" __global__ void mask_names_ended(int* out) {
    if (threadIdx.x >= 16) return;
    out[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1, 8);  // here: mask_names_ended
}

extern "C" __global__ void ends_while_awaited(int* out) {
    if (threadIdx.x == 31) return;
    out[threadIdx.x] = __any_sync(0xffffffffu, 1);  // here: ends_while_awaited
}

template <class T>
__device__ T twice(T value) {
    return value + __shfl_xor_sync(0xffffffffu, value, 1);
}

// One line of source, but two operations: they cannot exchange values of two types.
extern "C" __global__ void shuffles_of_two_types(int* out) {
    out[threadIdx.x] = threadIdx.x % 2 ? twice(1.0) : twice(1);
}

extern "C" __global__ void copy_in_flight(const int4* in, int* out) {
    __shared__ int4 tile[32];
    paged::cp_async<16>(&tile[threadIdx.x], &in[threadIdx.x]);
    paged::cp_async_commit();
    out[threadIdx.x] = 1;
}

// Lane 0 waits for lane 1, which waits for lane 2, which waits for lane 0's barrier.
extern "C" __global__ void circle(int* out) {
    if (threadIdx.x < 2) __syncwarp(0x3u);
    if (threadIdx.x == 1) __syncwarp(0x6u);  // here: circle
    __syncthreads();
    if (threadIdx.x == 2) __syncwarp(0x6u);
    out[threadIdx.x] = 1;
}
