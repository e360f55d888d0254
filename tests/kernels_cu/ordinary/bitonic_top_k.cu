// The k largest values of each row with their columns, by a bitonic sort in shared memory.
// One block per row; kCapacity (a power of two) bounds the row. Equal values: lower column first.
#include <math_constants.h>

template <typename Key, typename Value>
struct Entry {
    Key key;
    Value value;

    __device__ bool comes_before(const Entry& other) const {
        return key > other.key || (key == other.key && value < other.value);
    }
};

template <typename T>
__device__ inline void swap(T& a, T& b) {
    T held = a;
    a = b;
    b = held;
}

template <int kCapacity>
__global__ void __launch_bounds__(kCapacity / 2)
    top_k(const float* __restrict__ scores, float* __restrict__ values, int* __restrict__ columns,
          int num_columns, int k) {
    static_assert((kCapacity & (kCapacity - 1)) == 0, "a power of two");
    using Item = Entry<float, int>;
    __shared__ Item items[kCapacity];

    const float* row = scores + blockIdx.x * num_columns;
    for (int i = threadIdx.x; i < kCapacity; i += blockDim.x)
        items[i] = i < num_columns ? Item{row[i], i} : Item{-CUDART_INF_F, 0x7fffffff};

    for (unsigned size = 2; size <= kCapacity; size *= 2) {
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const unsigned low = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            Item& a = items[low];
            Item& b = items[low + stride];
            const bool is_descending = (low & size) == 0;
            if (b.comes_before(a) == is_descending) swap(a, b);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < k; i += blockDim.x) {
        values[blockIdx.x * k + i] = items[i].key;
        columns[blockIdx.x * k + i] = items[i].value;
    }
}
