// y = alpha * A x + beta * y for a CSR matrix: a group of THREADS lanes per row.
template <typename T, int THREADS>
__global__ void spmv(int num_rows, const int* __restrict__ row_start,
                     const int* __restrict__ columns, const T* __restrict__ values,
                     const T* __restrict__ x, T* __restrict__ y, T alpha, T beta) {
    static_assert(32 % THREADS == 0, "groups do not cross warps");
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / THREADS;
    const int lane = threadIdx.x % THREADS;
    // All lanes of a group leave together, but other groups of the warp may stay.
    const unsigned low_lanes = 0xffffffffu >> (32 - THREADS);
    const unsigned group_mask = low_lanes << (threadIdx.x % 32 - lane);
    if (row >= num_rows) return;

    T sum = 0;
    const int end = __ldg(row_start + row + 1);
    for (int k = __ldg(row_start + row) + lane; k < end; k += THREADS)
        sum += __ldg(values + k) * __ldg(x + __ldg(columns + k));
#pragma unroll
    for (int delta = THREADS / 2; delta > 0; delta /= 2)
        sum += __shfl_down_sync(group_mask, sum, delta, THREADS);
    if (lane == 0) y[row] = alpha * sum + (beta == T(0) ? T(0) : beta * y[row]);
}
