// Matrix transpose through a 32 x 32 tile padded by one column, so that no bank is hit twice.
// Block (32, 8): each thread moves four elements.
constexpr int kTile = 32;
constexpr int kRowsPerPass = 8;

template <class T>
__global__ void __launch_bounds__(kTile* kRowsPerPass)
    transpose(const T* __restrict__ in, T* __restrict__ out, unsigned num_rows,
              unsigned num_columns) {
    __shared__ T tile[kTile][kTile + 1];

    unsigned column = blockIdx.x * kTile + threadIdx.x;
    unsigned row = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
    for (unsigned pass = 0; pass < kTile; pass += kRowsPerPass)
        if (column < num_columns && row + pass < num_rows)
            tile[threadIdx.y + pass][threadIdx.x] =
                in[static_cast<unsigned long long>(row + pass) * num_columns + column];

    __syncthreads();

    column = blockIdx.y * kTile + threadIdx.x;
    row = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
    for (unsigned pass = 0; pass < kTile; pass += kRowsPerPass)
        if (column < num_rows && row + pass < num_columns)
            out[static_cast<unsigned long long>(row + pass) * num_rows + column] =
                tile[threadIdx.x][threadIdx.y + pass];
}
