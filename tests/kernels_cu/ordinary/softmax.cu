// Row softmax in one pass over the input (online normaliser, Milakov and Gimelshein 2018), then
// one pass that writes. One block per row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

template <typename T>
struct Convert;

template <>
struct Convert<float> {
    static __device__ float to_float(float x) { return x; }
    static __device__ float from_float(float x) { return x; }
};

template <>
struct Convert<__half> {
    static __device__ float to_float(__half x) { return __half2float(x); }
    static __device__ __half from_float(float x) { return __float2half_rn(x); }
};

template <>
struct Convert<__nv_bfloat16> {
    static __device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
    static __device__ __nv_bfloat16 from_float(float x) { return __float2bfloat16_rn(x); }
};

// The largest logit seen, and the sum of exp(logit - largest).
struct __align__(8) Normaliser {
    float largest;
    float sum;
};

__device__ __forceinline__ Normaliser merge(Normaliser a, Normaliser b) {
    const bool a_is_larger = a.largest > b.largest;
    const Normaliser larger = a_is_larger ? a : b;
    const Normaliser smaller = a_is_larger ? b : a;
    // careful: where both saw nothing but -inf, the difference is NaN.
    const bool is_masked = smaller.largest == -CUDART_INF_F;
    const float scale = is_masked ? 0.f : __expf(smaller.largest - larger.largest);
    return {larger.largest, larger.sum + smaller.sum * scale};
}

template <typename T, int BLOCK>
__launch_bounds__(BLOCK) __global__
    void softmax(T* __restrict__ out, const T* __restrict__ in, int num_columns) {
    static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps");
    constexpr int NUM_WARPS = BLOCK / 32;
    __shared__ Normaliser warp_state[NUM_WARPS];

    in += size_t(blockIdx.x) * num_columns;
    out += size_t(blockIdx.x) * num_columns;

    Normaliser state{-CUDART_INF_F, 0.f};
    for (int i = threadIdx.x; i < num_columns; i += BLOCK) {
        state = merge(state, {Convert<T>::to_float(in[i]), 1.f});
    }
    for (int offset = 16; offset; offset >>= 1) {
        Normaliser other;
        other.largest = __shfl_down_sync(0xffffffffu, state.largest, offset);
        other.sum = __shfl_down_sync(0xffffffffu, state.sum, offset);
        state = merge(state, other);
    }
    if (threadIdx.x % 32 == 0) warp_state[threadIdx.x / 32] = state;
    __syncthreads();
    state = warp_state[0];
#pragma unroll
    for (int warp = 1; warp < NUM_WARPS; ++warp) state = merge(state, warp_state[warp]);

    const float inverse = __fdividef(1.f, state.sum);
    for (int i = threadIdx.x; i < num_columns; i += BLOCK) {
        const float x = Convert<T>::to_float(in[i]);
        out[i] = Convert<T>::from_float(__expf(x - state.largest) * inverse);
    }
}
