// Grids, blocks, shared memory and barriers, in the forms that CUDA allows.
#include <cstdio>

extern "C" __global__ void indices(int* out) {
    const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int num_threads = blockDim.x * blockDim.y * blockDim.z;
    int* row = out + (block * num_threads + thread) * 6;
    row[0] = blockIdx.x, row[1] = blockIdx.y, row[2] = blockIdx.z;
    row[3] = threadIdx.x, row[4] = threadIdx.y, row[5] = threadIdx.z;
}

extern __shared__ int at_file_scope[];

namespace outer {
extern __shared__ __align__(16) unsigned char in_a_namespace[];
__device__ int first_byte() { return in_a_namespace[0]; }
}  // namespace outer

// extern __shared__ int in_a_comment[];
const char* const in_a_literal = "extern __shared__ int x[];";

template <class T>
__device__ T& element(int index) {
    extern __shared__ __align__(8) unsigned char bytes[];
    return reinterpret_cast<T*>(bytes)[index];
}

// All names of dynamic shared memory are one array.
extern "C" __global__ void dynamic_shared(int* out) {
    extern volatile __shared__ int inside[];
    const int thread = threadIdx.x;
    inside[thread] = thread + 1;
    __syncthreads();
    const int next = (thread + 1) % blockDim.x;
    const auto read = [=] { return at_file_scope[next]; };
    out[thread] = read() + element<int>(next) + (thread == 0 ? outer::first_byte() : 0);
}

template <int rows>
__device__ int transposed(int value) {
    static __shared__ int tile[rows][rows + 1];
    __shared__ volatile short unused[4];
    tile[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    unused[0] = 1;
    return tile[threadIdx.x][threadIdx.y];
}

template <int rows, class T>
__global__ void __launch_bounds__(rows* rows) transpose(const T* in, T* out) {
    const int i = threadIdx.y * rows + threadIdx.x;
    out[i] = transposed<rows>(in[i]);
}

extern "C" __global__ void shared_starts_undefined(unsigned* out) {
    __shared__ unsigned fixed[4];
    extern __shared__ unsigned variable[];
    if (threadIdx.x != 0) return;
    out[blockIdx.x * 2] = fixed[3];
    out[blockIdx.x * 2 + 1] = variable[1];
    fixed[3] = variable[1] = 5;
}

extern "C" __global__ void predicates(const int* in, int* out) {
    const int mine = in[threadIdx.x];
    for (int round = 0; round < 3; ++round) {
        out[threadIdx.x * 9 + round * 3] = __syncthreads_count(mine > round);
        out[threadIdx.x * 9 + round * 3 + 1] = __syncthreads_and(mine > round);
        out[threadIdx.x * 9 + round * 3 + 2] = __syncthreads_or(mine > round);
    }
}

extern "C" __global__ void early_return(int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = i;
}

extern "C" __global__ void prints(int rounds) {
    for (int i = 0; i < rounds; ++i) {
        printf("thread %d of block %u, round %d\n", threadIdx.x, blockIdx.x, i);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        printf("%ld %lld %f %.3e %g %x %c %s %5.1f|%%\n", -1L, 1LL << 40, 0.5f, 1234.5, 1e-9, 255,
               'z', "text", 2.25);
    }
}

// A barrier is missing between the write and the reads. In natural order the writer comes first.
extern "C" __global__ void missing_barrier(int* out) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 42;
    out[threadIdx.x] = total;
}

// A barrier is missing at the end of the loop. In natural order readers precede the next writer.
extern "C" __global__ void missing_second_barrier(int* out) {
    __shared__ int current;
    int sum = 0;
    for (int i = 0; i < 4; ++i) {
        if (threadIdx.x == blockDim.x - 1) current = i;
        __syncthreads();
        sum += current << (2 * i);
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void order_of_blocks(int* order, int* next) {
    if (threadIdx.x == 0) order[atomicAdd(next, 1)] = blockIdx.x;
}

extern "C" __global__ void order_of_warps(int* order, int* next) {
    if (threadIdx.x % 32 == 0) order[atomicAdd(next, 1)] = threadIdx.x / 32;
}

struct Params {
    char small;
    double* out;
    int3 place;
    float scale;
};

extern "C" __global__ void by_value(const __grid_constant__ Params p, short tiny, bool flag,
                                    double big) {
    *p.out = p.small + p.place.x * 10 + p.place.z * 100 + p.scale + tiny * 1000 + flag + big;
}
