// Fused cross-entropy: loss per row and the gradient of the logits, written over the logits.
// One block per row. Rows whose target is ignore_index get loss 0 and gradient 0.
#include <cmath>
#include <cuda_bf16.h>

template <int BLOCK, typename F>
__device__ float block_all_reduce(float value, F combine) {
    __shared__ float shared[BLOCK];
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half >= 1; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    const float result = shared[0];
    __syncthreads();
    return result;
}

template <typename T, int BLOCK>
__global__ void cross_entropy(T* logits, const long long* targets, float* losses, int vocabulary,
                              long long ignore_index, float grad_scale) {
    T* row = logits + static_cast<long long>(blockIdx.x) * vocabulary;
    const long long target = targets[blockIdx.x];
    const bool is_ignored = target == ignore_index;

    float largest = -INFINITY;
    for (int v = threadIdx.x; v < vocabulary; v += BLOCK) largest = fmaxf(largest, float(row[v]));
    largest = block_all_reduce<BLOCK>(largest, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0;
    for (int v = threadIdx.x; v < vocabulary; v += BLOCK) sum += expf(float(row[v]) - largest);
    sum = block_all_reduce<BLOCK>(sum, [](float a, float b) { return a + b; });

    if (threadIdx.x == 0)
        losses[blockIdx.x] = is_ignored ? 0.f : logf(sum) + largest - float(row[target]);
    __syncthreads();
    for (int v = threadIdx.x; v < vocabulary; v += BLOCK) {
        const float probability = expf(float(row[v]) - largest) / sum;
        const float gradient = (probability - (v == target ? 1.f : 0.f)) * grad_scale;
        row[v] = T(is_ignored ? 0.f : gradient);
    }
}
