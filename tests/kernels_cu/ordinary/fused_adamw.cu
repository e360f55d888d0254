// One AdamW step, all in one pass: bfloat16 parameters, float moments, grid-stride loop.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

static __device__ __forceinline__ float lerp(float start, float end, float weight) {
    return fmaf(weight, end, fmaf(-weight, start, start));
}

extern "C" __global__ void fused_adamw(__nv_bfloat16* __restrict__ params,
                                       const __nv_bfloat16* __restrict__ grads,
                                       float* __restrict__ m_state, float* __restrict__ v_state,
                                       size_t num_params, float learning_rate, float beta1,
                                       float beta2, float epsilon, float weight_decay, int step) {
    const float correction1 = 1.0f - powf(beta1, step);
    const float correction2 = 1.0f - powf(beta2, step);
    const size_t stride = static_cast<size_t>(blockDim.x) * gridDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < num_params;
         i += stride) {
        const float grad = static_cast<float>(grads[i]);
        const float m = lerp(grad, m_state[i], beta1);
        const float v = lerp(grad * grad, v_state[i], beta2);
        m_state[i] = m;
        v_state[i] = v;
        const float old = __bfloat162float(params[i]);
        const float denominator = sqrtf(v / correction2) + epsilon;
        const float update = m / correction1 / denominator + weight_decay * old;
        params[i] = __float2bfloat16_rn(old - learning_rate * update);
    }
}
