// Atomics under contention of many blocks, locks, counters that last, and copies in the background.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../../../kernels_cu/include/portable.cuh"

template <class T>
__global__ void arithmetic(T* out) {
    const T one = static_cast<T>(1);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[0], one);
    atomicSub(&out[1], one);
    atomicMin(&out[2], static_cast<T>(1000 - i));
    atomicMax(&out[3], static_cast<T>(i));
    atomicExch(&out[4], static_cast<T>(7));
    for (T old = out[5];;) {
        const T seen = atomicCAS(&out[5], old, old + 2);
        if (seen == old) break;
        old = seen;
    }
}

template <class T>
__global__ void bitwise(T* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAnd(&out[0], ~(static_cast<T>(1) << (i % 16)));
    atomicOr(&out[1], static_cast<T>(1) << (i % 20));
    atomicXor(&out[2], static_cast<T>(i));
}

template <class T>
__global__ void additions(T* out) {
    atomicAdd(&out[blockIdx.x % 2], static_cast<T>(0.5f));
    atomicAdd_system(&out[2], static_cast<T>(0.25f));
}

extern "C" __global__ void pairs(__half2* half, __nv_bfloat162* brain) {
    atomicAdd(half, __floats2half2_rn(1.0f, 0.5f));
    atomicAdd(brain, __floats2bfloat162_rn(0.5f, 1.0f));
}

extern "C" __global__ void wrapping(unsigned* out) {
    atomicInc(&out[0], 6u);
    atomicDec(&out[1], 6u);
    atomicAdd_block(&out[2], 3);
}

__device__ unsigned num_done;
__device__ int visits[3] = {10, 20, 30};
namespace inner {
__constant__ float factor = 2.0f;
}

// The last block to finish adds up what all have written.
extern "C" __global__ void last_block_sums(const int* in, int* partial, int* out) {
    __shared__ bool is_last;
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = total;
        __threadfence();
        is_last = atomicInc(&num_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last || threadIdx.x != 0) return;
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
    *out = sum;
}

extern "C" __global__ void count_visits(int* out, int fails) {
    atomicAdd(&visits[threadIdx.x % 3], 1);
    out[0] = static_cast<int>(inner::factor * 10);
    if (fails != 0) __trap();
}

// Each thread of every block takes the lock in the order of its ticket.
extern "C" __global__ void ticket_lock(unsigned* lock, int* guarded) {
    const unsigned ticket = atomicAdd(&lock[0], 1u);
    while (atomicAdd(&lock[1], 0u) != ticket) {
    }
    const int seen = *static_cast<volatile int*>(guarded);
    *static_cast<volatile int*>(guarded) = seen + 1;
    __threadfence();
    atomicAdd(&lock[1], 1u);
}

extern "C" __global__ void spin_lock(int* lock, int* guarded) {
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0, 1) != 0) continue;
        const int seen = *static_cast<volatile int*>(guarded);
        *static_cast<volatile int*>(guarded) = seen + 1;
        __threadfence();
        atomicExch(lock, 0);
        done = true;
    }
}

// A warp waits for another's flag, in shared memory, without a barrier.
extern "C" __global__ void hand_over(int* out) {
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicAdd(&flag, 0) == 0) __nanosleep(20);
        *out = flag;
    } else if (threadIdx.x == 63) {
        __threadfence_block();
        atomicExch(&flag, 5);
    }
}

// What is copied in the background is undefined until it has been waited for.
extern "C" __global__ void background_copies(const int4* in, int4* out, int num_waited) {
    __shared__ int4 tile[2][32];
    const int lane = threadIdx.x;
    paged::cp_async<16>(&tile[0][lane], &in[lane]);
    paged::cp_async_commit();
    paged::cp_async<16>(&tile[1][lane], &in[32 + lane], lane % 2 ? 16 : 4);
    paged::cp_async_commit();
    if (num_waited == 1) paged::cp_async_wait<1>();
    if (num_waited == 2) paged::cp_async_wait<0>();
    out[lane] = tile[0][lane];
    out[32 + lane] = tile[1][lane];
    paged::cp_async_wait<0>();
}

extern "C" __global__ void clocks(long long* out) {
    const long long before = clock64();
    __nanosleep(10);
    out[0] = clock64() - before;
    out[1] = clock() >= 0;
}
