// D[m, n] = row_scale[m] * column_scale[n] * sum_k A[m, k] * B[n, k], int8 with __dp4a.
// K counts bytes and must be a multiple of 4. Block (16, 16) owns a 32 x 32 tile, 2 x 2 a thread.
#include <cuda_runtime.h>

namespace {
constexpr int TILE = 32;
constexpr int WORDS = 16;  // of four values, along k
}

extern "C" __global__ __launch_bounds__(256) void gemm_int8(
    const signed char* A, const signed char* B, const float* row_scale, const float* column_scale,
    float* D, int M, int N, int K) {
    __shared__ int a_words[TILE][WORDS + 1];
    __shared__ int b_words[TILE][WORDS + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int words_per_row = K >> 2;
    const int* a = reinterpret_cast<const int*>(A);
    const int* b = reinterpret_cast<const int*>(B);
    int sums[2][2] = {{0, 0}, {0, 0}};

    for (int k0 = 0; k0 < words_per_row; k0 += WORDS) {
        const int word = k0 + tx;
        for (int half = 0; half < 2; ++half) {
            const int local = ty + 16 * half;
            const int m = blockIdx.y * TILE + local;
            const int n = blockIdx.x * TILE + local;
            a_words[local][tx] = m < M && word < words_per_row ? a[m * words_per_row + word] : 0;
            b_words[local][tx] = n < N && word < words_per_row ? b[n * words_per_row + word] : 0;
        }
        __syncthreads();
        for (int w = 0; w < WORDS; ++w)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j)
                    sums[i][j] =
                        __dp4a(a_words[ty + 16 * i][w], b_words[tx + 16 * j][w], sums[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            const int m = blockIdx.y * TILE + ty + 16 * i, n = blockIdx.x * TILE + tx + 16 * j;
            const float scale = m < M && n < N ? __fmul_rn(row_scale[m], column_scale[n]) : 0.f;
            if (m < M && n < N) D[m * N + n] = __int2float_rn(sums[i][j]) * scale;
        }
}
