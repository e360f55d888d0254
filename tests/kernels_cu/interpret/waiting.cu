// Loops that wait for another thread with nothing in them that the interpreter sees.

struct Mailbox {
    volatile int flag;
    int value;
};

__device__ volatile int turns[2];

// Thread 0 waits for the last thread of its warp, in every form that a loop has.
extern "C" __global__ void within_a_warp(int* out) {
    __shared__ volatile int flags[6];
    __shared__ Mailbox mailbox;
    const int last = blockDim.x - 1;
    if (threadIdx.x < 6) flags[threadIdx.x] = mailbox.flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (flags[0] == 0);
        do {
        } while (flags[1] == 0);
        for (; flags[2] == 0;);
        for (int sum = 0;; sum += flags[3]) {
            if (flags[3] != 0 && sum >= 0) break;
        }
    again:
        if (flags[4] == 0) goto again;
        while (true)
            if (flags[5]) break;
        while (!mailbox.flag) continue;
        *out = mailbox.value;
    } else if (threadIdx.x == last) {
        for (int i = 0; i < 6; ++i) flags[i] = 1;
        mailbox.value = 5;
        __threadfence_block();
        mailbox.flag = 1;
    }
}

// Each thread waits for the one after it; the last for nobody.
extern "C" __global__ void chain(int* out) {
    volatile int* shown = out;
    const int i = threadIdx.x;
    if (i + 1 < blockDim.x) {
        while (shown[i + 1] == 0) {
        }
    }
    shown[i] = i + 1 < blockDim.x ? shown[i + 1] + 1 : 1;
}

// Two blocks count in turns, reading past the first cache.
extern "C" __global__ void between_blocks(int* counter) {
    for (int i = blockIdx.x; i < 100; i += 2) {
        if (threadIdx.x == 0) {
            if (i % 4 < 2) {
                while (__ldcg(counter) != i) {
                }
            } else {
                while (__ldcv(counter) != i) {
                }
            }
            *(volatile int*)counter = i + 1;
        }
        __syncthreads();
    }
}

// Reads volatile memory alone: no other word tells that it waits.
extern "C" __global__ void for_nobody(int* out) {
    if (threadIdx.x == 3) {
        while (turns[0] == turns[1]);  // here: for_nobody
    }
    __syncthreads();
    *out = 1;
}

__device__ int mixed(int num_steps) {
    int sum = 0;
    for (int i = 0; i < num_steps; ++i) sum = sum * 31 + i;
    return sum;
}

// One lane is on its way to the mask for longer than the others.
extern "C" __global__ void late_for_the_mask(unsigned* out, int num_steps) {
    const int i = threadIdx.x;
    out[blockDim.x + i] = mixed(i == 14 ? num_steps : 0);
    out[i] = __activemask();
}

// As many atomics as lanes of the block come before the mask.
extern "C" __global__ void atomics_before_the_mask(int* count, unsigned* out) {
    atomicAdd(count, 1);
    out[threadIdx.x] = __activemask();
}

// Lanes take tickets in the order in which their turns end.
extern "C" __global__ void tickets(int* next, int* out, int num_steps) {
    const int i = threadIdx.x;
    out[blockDim.x + i] = mixed(num_steps);
    out[i] = atomicAdd(next, 1);
}
