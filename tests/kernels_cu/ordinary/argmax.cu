// Column of the largest value in each row: (value, column) packed into one ordered 64-bit key,
// so that one atomicMax decides. Equal values: lower column wins. keys start at zero.
#include <cstdint>

__host__ __device__ static inline uint32_t ordered_bits(uint32_t bits) {
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ static inline unsigned long long make_key(float value, uint32_t column) {
    return (unsigned long long)ordered_bits(__float_as_uint(value)) << 32 | (0xffffffffu - column);
}

extern "C" __global__ void argmax_keys(const float* __restrict__ in, unsigned long long* keys,
                                       int num_columns) {
    __shared__ unsigned long long best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    const float* row = in + blockIdx.x * num_columns;
    unsigned long long mine = 0;
    const int stride = gridDim.y * blockDim.x;
    for (int c = blockIdx.y * blockDim.x + threadIdx.x; c < num_columns; c += stride) {
        const unsigned long long key = make_key(row[c], c);
        mine = key > mine ? key : mine;
    }
    const unsigned high = __reduce_max_sync(0xffffffffu, unsigned(mine >> 32));
    const bool leads = unsigned(mine >> 32) == high;
    const unsigned low = __reduce_max_sync(0xffffffffu, leads ? unsigned(mine) : 0u);
    if (threadIdx.x % 32 == 0) atomicMax(&best, (unsigned long long)high << 32 | low);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(&keys[blockIdx.x], best);
}

extern "C" __global__ void argmax_columns(const unsigned long long* keys, long long* columns,
                                          int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) columns[i] = 0xffffffffu - uint32_t(keys[i]);
}
