// out = scale * in, with tiles fetched ahead by asynchronous copies: two buffers, one tile in
// flight while the other is used. Each thread copies and uses its own 16 bytes.
#include <cuda_pipeline_primitives.h>

constexpr int kThreads = 64;
constexpr int kStages = 2;

extern "C" __global__ void __launch_bounds__(kThreads)
    pipelined_scale(const float4* __restrict__ in, float4* __restrict__ out, int num_vectors,
                    float scale) {
    __shared__ float4 buffer[kStages][kThreads];
    const int stride = gridDim.x * kThreads;
    const int first = blockIdx.x * kThreads + threadIdx.x;

    auto fetch = [&](int index, int stage) {
        if (index < num_vectors)
            __pipeline_memcpy_async(&buffer[stage][threadIdx.x], in + index, sizeof(float4));
        __pipeline_commit();
    };

    fetch(first, 0);
    int stage = 0;
    for (int i = first; i < num_vectors; i += stride, stage ^= 1) {
        fetch(i + stride, stage ^ 1);
        __pipeline_wait_prior(1);
        float4 v = buffer[stage][threadIdx.x];
        v.x *= scale, v.y *= scale, v.z *= scale, v.w *= scale;
        out[i] = v;
    }
    __pipeline_wait_prior(0);
}
