// Shared memory in all its forms: static arrays in device functions and in their templates, the
// same dynamic memory under two types, carved into aligned parts, objects with methods, an array
// of three axes, and a pointer kept in shared memory.
#include <cstdint>

template <typename T, int N>
__device__ T* scratch() {
    __shared__ T memory[N];
    return memory;
}

template <typename T>
struct SharedBytes;
template <>
struct SharedBytes<float> {
    __device__ static float* get() {
        extern __shared__ float floats[];
        return floats;
    }
};
template <>
struct SharedBytes<double> {
    __device__ static double* get() {
        extern __shared__ double doubles[];
        return doubles;
    }
};

struct Arena {
    unsigned char* next;

    template <typename T>
    __device__ T* take(int count) {
        const uintptr_t mask = alignof(T) - 1;
        const uintptr_t address = (reinterpret_cast<uintptr_t>(next) + mask) & ~mask;
        next = reinterpret_cast<unsigned char*>(address) + count * sizeof(T);
        return reinterpret_cast<T*>(address);
    }
};

struct __align__(16) Cell {
    float3 position;
    short kind;
    __device__ float key() const { return position.x + 10 * position.y + 100 * position.z + kind; }
};

// Two instantiations have two arrays; two types have two as well.
__device__ int sum_of_scratches(int value) {
    int* a = scratch<int, 64>();
    int* b = scratch<int, 65>();
    short* c = scratch<short, 64>();
    a[threadIdx.x] = value;
    b[threadIdx.x + 1] = 10 * value;
    c[threadIdx.x] = 100 * value;
    __syncthreads();
    const int other = blockDim.x - 1 - threadIdx.x;
    return a[other] + b[other + 1] + c[other];
}

template <typename T>
__device__ T rotate_through_dynamic(T value) {
    T* memory = SharedBytes<T>::get();
    __syncthreads();
    memory[threadIdx.x] = value;
    __syncthreads();
    return memory[(threadIdx.x + 1) % blockDim.x];
}

__device__ float carve(int value) {
    extern __shared__ unsigned char bytes[];
    __syncthreads();
    Arena arena{bytes + 1};
    signed char* small = arena.take<signed char>(blockDim.x);
    Cell* cells = arena.take<Cell>(blockDim.x);
    double* large = arena.take<double>(blockDim.x);
    small[threadIdx.x] = value;
    large[threadIdx.x] = value * 0.5;
    cells[threadIdx.x] = Cell{make_float3(value, value + 1, value + 2), static_cast<short>(value)};
    __syncthreads();
    const int other = threadIdx.x ^ 1;
    return small[other] + static_cast<float>(large[other]) + cells[other].key();
}

__global__ void __launch_bounds__(64) shared_memory(const int* in, double* out) {
    __shared__ int cube[2][4][8];
    __shared__ const int* published;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = gridDim.x * blockDim.x;
    const int t = threadIdx.x;

    cube[t / 32][t / 8 % 4][t % 8] = in[i];
    if (t == 63) published = &cube[1][0][0];
    __syncthreads();
    out[i] = cube[1 - t / 32][t / 8 % 4][7 - t % 8] + 1000 * published[t % 32];
    out[n + i] = sum_of_scratches(in[i] % 100);
    out[2 * n + i] = rotate_through_dynamic(float(in[i])) + rotate_through_dynamic(double(i));
    out[3 * n + i] = carve(in[i] % 100);
}
