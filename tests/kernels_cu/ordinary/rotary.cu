// Rotary position embedding in place, pairs (2i, 2i + 1), half2 storage, angles by sincosf.
// Grid (tokens, heads); strides in half2 elements.
#include <cuda_fp16.h>

__global__ void rotary(__half2* x, const int* positions, int num_pairs, long token_stride,
                       int head_stride, float base) {
    __half2* head = x + blockIdx.x * token_stride + blockIdx.y * head_stride;
    for (int i = threadIdx.x; i < num_pairs; i += blockDim.x) {
        const float frequency = exp2f(-log2f(base) * i / num_pairs);
        float sine, cosine;
        sincosf(positions[blockIdx.x] * frequency, &sine, &cosine);
        const float2 v = __half22float2(head[i]);
        head[i] = __floats2half2_rn(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine);
    }
}
