// C = alpha * A B + beta * C with half inputs and float accumulation; all row-major.
// A block of (BN / TN, BM / TM) threads owns a BM x BN tile of C; each thread TM x TN of it.
#include <cuda_fp16.h>

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
    gemm(int M, int N, int K, float alpha, const half* __restrict__ A, const half* __restrict__ B,
         float beta, float* __restrict__ C) {
    constexpr int kThreads = (BM / TM) * (BN / TN);
    static_assert(BM % TM == 0 && BN % TN == 0, "whole thread tiles");
    static_assert((BM * BK) % kThreads == 0 && (BK * BN) % kThreads == 0, "even loads");
    __shared__ half a_tile[BK][BM + 2];  // transposed; the pad spreads the banks
    __shared__ half b_tile[BK][BN];

    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    const int block_row = blockIdx.y * BM;
    const int block_column = blockIdx.x * BN;
    const half zero = __float2half(0.f);
    float accumulator[TM][TN] = {};

    for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
        for (int i = tid; i < BM * BK; i += kThreads) {
            const int m = i / BK, k = i % BK;
            const bool inside = block_row + m < M && k0 + k < K;
            a_tile[k][m] = inside ? A[size_t(block_row + m) * K + k0 + k] : zero;
        }
#pragma unroll
        for (int i = tid; i < BK * BN; i += kThreads) {
            const int k = i / BN, n = i % BN;
            const bool inside = k0 + k < K && block_column + n < N;
            b_tile[k][n] = inside ? B[size_t(k0 + k) * N + block_column + n] : zero;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int m = 0; m < TM; ++m) a[m] = __half2float(a_tile[k][threadIdx.y * TM + m]);
            for (int n = 0; n < TN; ++n) b[n] = __half2float(b_tile[k][threadIdx.x * TN + n]);
#pragma unroll
            for (int m = 0; m < TM; ++m)
#pragma unroll
                for (int n = 0; n < TN; ++n)
                    accumulator[m][n] = fmaf(a[m], b[n], accumulator[m][n]);
        }
        __syncthreads();
    }

    for (int m = 0; m < TM; ++m) {
        const int row = block_row + threadIdx.y * TM + m;
        if (row >= M) break;
        for (int n = 0; n < TN; ++n) {
            const int column = block_column + threadIdx.x * TN + n;
            if (column >= N) continue;
            float& c = C[size_t(row) * N + column];
            // careful: C may hold anything where beta is zero.
            c = alpha * accumulator[m][n] + (beta == 0.f ? 0.f : beta * c);
        }
    }
}
