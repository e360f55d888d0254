// Kernels that fail, each in one way. A line that fails is marked with the name of its kernel.
#include <cassert>
#include <cstdio>
#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

// Access at any index, in elements, from one thread of the second block.
extern "C" __global__ void read_at(const float* in, float* out, int index) {
    out[0] = 1.0f;
    if (blockIdx.x == 1 && threadIdx.x == 3) out[1] = in[index];  // here: read_at
}

extern "C" __global__ void write_at(const float* in, float* out, int index) {
    out[0] = 1.0f;
    if (blockIdx.x == 1 && threadIdx.x == 3) out[index] = in[0];  // here: write_at
}

// The index is high * 2^31 + low.
extern "C" __global__ void reach_far(const float* in, float* out, int high, int low) {
    const long long index = (static_cast<long long>(high) << 31) + low;
    if (threadIdx.x == 0) out[0] = in[index];  // here: reach_far
}

extern "C" __global__ void update_at(float* both, double* other, int index) {
    if (blockIdx.x != 1 || threadIdx.x != 3) return;
    both[0] += 1.0f;
    other[index] += 1.0;  // here: update_at
}

// One byte, where a guard page cannot be hit: between the operand and the end of its page.
extern "C" __global__ void nudge(const float* in, char* out, int offset) {
    if (threadIdx.x == 0) out[offset] = static_cast<char>(in[0]);
}

__device__ __noinline__ void store(float* place, float value) {
    *place = value;  // here: write_to_input
}

extern "C" __global__ void write_to_input(const float* in, float* out) {
    out[0] = 1.0f;
    store(const_cast<float*>(in) + threadIdx.x, 2.0f);
}

extern "C" __global__ void null_pointer(const float* in, float* out, int address) {
    out[0] = in[0];
    out[1] = reinterpret_cast<const float*>(size_t(address))[5];  // here: null_pointer
}

__device__ __noinline__ int depth(volatile int* counter) {
    volatile int frame[64];
    frame[0] = ++*counter;
    return depth(counter) + frame[0];
}

extern "C" __global__ void stack_overflow(const float* in, float* out) {
    volatile int counter = static_cast<int>(in[0]);
    out[0] = depth(&counter);
}

extern "C" __global__ void division_by_zero(const float* in, float* out, int divisor) {
    out[0] = 1.0f;
    out[1] = static_cast<int>(in[0]) / divisor;  // here: division_by_zero
}

extern "C" __global__ void trap(const float* in, float* out) {
    out[0] = in[0];
    if (threadIdx.x == 7) __trap();  // here: trap
}

extern "C" __global__ void assertion(const float* in, float* out) {
    out[0] = 1.0f;
    assert(in[threadIdx.x] < 5.0f);  // here: assertion
}

extern "C" __global__ void endless(const float* in, float* out) {
    out[0] = in[0];
    if (threadIdx.x == 5) {
        for (volatile int i = 0;; i = i + 1) {  // here: endless
        }
    }
}

extern "C" __global__ void endless_wait(const float* in, int* flag) {
    flag[1] = static_cast<int>(in[0]);
    while (atomicAdd(flag, 0) == 0) {
    }
}

extern "C" __global__ void past_dynamic_shared(const float* in, float* out, int index) {
    extern __shared__ float tile[];
    tile[index] = in[0];
    out[0] = tile[index];
}

// Ends its process with success before all elements are written.
extern "C" __global__ void leave(const float* in, float* out, int way) {
    out[0] = in[0];
    if (blockIdx.x == 1) return;
    if (way == 0) exit(0);  // here: exit
    if (way == 1) quick_exit(1);
    if (way == 2) _exit(2);
    if (way == 3) std::_Exit(3);
    if (way == 4) std::abort();
    syscall(SYS_exit_group, 0);
}

extern "C" __global__ void print_and_trap(const float* in, float* out) {
    out[0] = in[0];
    printf("before\n");
    __trap();
}
