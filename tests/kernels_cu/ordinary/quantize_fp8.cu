// Row-wise quantisation to e4m3: scale = absmax / 448, packed four values to a word.
// One warp per row; num_columns is a multiple of 4.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

template <typename In>
__global__ void quantize_rows(const In* __restrict__ in, __nv_fp8x4_e4m3* __restrict__ out,
                              float* __restrict__ scales, int num_rows, int num_columns) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= num_rows) return;
    const In* x = in + row * num_columns;

    float absmax = 0.f;
    for (int c = threadIdx.x; c < num_columns; c += warpSize)
        absmax = fmaxf(absmax, fabsf(static_cast<float>(x[c])));
    for (int mask = warpSize / 2; mask > 0; mask >>= 1)
        absmax = fmaxf(absmax, __shfl_xor_sync(0xffffffff, absmax, mask));

    const float scale = fmaxf(absmax / 448.f, 1e-12f);
    for (int w = threadIdx.x; w < num_columns / 4; w += warpSize) {
        float4 v;
        v.x = static_cast<float>(x[4 * w + 0]) / scale;
        v.y = static_cast<float>(x[4 * w + 1]) / scale;
        v.z = static_cast<float>(x[4 * w + 2]) / scale;
        v.w = static_cast<float>(x[4 * w + 3]) / scale;
        out[row * (num_columns / 4) + w] = __nv_fp8x4_e4m3(v);
    }
    if (threadIdx.x == 0) scales[row] = scale;
}

extern "C" __global__ void dequantize_rows(const __nv_fp8_e4m3* in, const float* scales, float* out,
                                           int num_columns) {
    const int column = blockIdx.y * blockDim.x + threadIdx.x;
    if (column < num_columns) {
        const size_t i = size_t(blockIdx.x) * num_columns + column;
        out[i] = float(in[i]) * scales[blockIdx.x];
    }
}
