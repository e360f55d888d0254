// Blocks, warps and lanes that wait for each other: a spin lock taken by single lanes, a ticket
// lock, a relay of warps, a grid-wide barrier of resident blocks, a producer and a consumer block,
// and atomics built from compare-and-swap.
#include <cuda_runtime.h>

struct Account {
    int lock;
    int num_deposits;
    long long balance;
};

__device__ int next_ticket = 0;
__device__ volatile int now_serving = 0;
__device__ unsigned arrived = 0;
__device__ volatile unsigned generation = 0;

__device__ double atomic_add_by_cas(double* address, double value) {
    auto* words = reinterpret_cast<unsigned long long*>(address);
    unsigned long long old = *words, assumed;
    do {
        assumed = old;
        const double sum = __longlong_as_double(assumed) + value;
        old = atomicCAS(words, assumed, __double_as_longlong(sum));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__device__ void atomic_max(float* address, float value) {
    int old = __float_as_int(*address);
    while (__int_as_float(old) < value) {
        const int seen = atomicCAS(reinterpret_cast<int*>(address), old, __float_as_int(value));
        if (seen == old) break;
        old = seen;
    }
}

// Every lane deposits under the lock; the loop lets the holder pass before the others try again.
extern "C" __global__ void deposit(Account* account, double* total, float* largest,
                                   const int* amounts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(&account->lock, 0, 1) == 0) {
            __threadfence();
            volatile Account* held = account;
            held->num_deposits = held->num_deposits + 1;
            held->balance = held->balance + amounts[i];
            __threadfence();
            atomicExch(&account->lock, 0);
            done = true;
        }
    }
    atomic_add_by_cas(total, amounts[i]);
    atomic_max(largest, amounts[i]);
}

// Blocks append their number in the order of their tickets.
extern "C" __global__ void take_turns(int* order, int* length) {
    if (threadIdx.x == 0) {
        const int ticket = atomicAdd(&next_ticket, 1);
        while (now_serving != ticket) {
        }
        __threadfence();
        order[*(volatile int*)length] = blockIdx.x;
        *(volatile int*)length += 1;
        __threadfence();
        now_serving = ticket + 1;
        if (ticket == gridDim.x - 1) {
            next_ticket = 0;
            now_serving = 0;
        }
    }
}

__device__ void grid_barrier() {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned mine = generation;
        __threadfence();
        if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
            arrived = 0;
            __threadfence();
            generation = mine + 1;
        } else {
            while (generation == mine) __nanosleep(20);
        }
        __threadfence();
    }
    __syncthreads();
}

// Repeated averaging of a ring whose parts belong to different blocks, all of them resident.
extern "C" __global__ void smooth_ring(volatile float* ring, volatile float* next, int num_steps) {
    const int n = gridDim.x * blockDim.x;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < num_steps; ++step) {
        next[i] = 0.5f * (ring[(i + n - 1) % n] + ring[(i + 1) % n]);
        grid_barrier();
        ring[i] = next[i];
        grid_barrier();
    }
}

// The warps of a block write one after the other, each released by the one before it.
extern "C" __global__ void relay(int* out) {
    __shared__ volatile int turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    const int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 != 0) return;
    while (turn != warp) __nanosleep(8);
    out[warp] = warp == 0 ? 1 : 3 * out[warp - 1];
    __threadfence_block();
    turn = warp + 1;
}

// Block 0 makes squares, block 1 adds them up, through one slot of a mailbox.
extern "C" __global__ void mailbox(volatile int* slot, volatile int* is_full, int* sum, int count) {
    if (blockIdx.x == 0) {
        for (int i = 1; i <= count; ++i) {
            while (*is_full) {
            }
            *slot = i * i;
            __threadfence();
            *is_full = 1;
        }
    } else {
        for (int i = 1; i <= count; ++i) {
            while (!*is_full) {
            }
            __threadfence();
            *sum += *slot;
            __threadfence();
            *is_full = 0;
        }
    }
}
