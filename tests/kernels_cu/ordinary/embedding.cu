// Token embedding: gather rows forward, scatter-add gradients backward with half2 atomics.
// One block per token; num_columns is even. Ids below zero are padding.
#include <cuda_fp16.h>

template <typename Index>
__global__ void embedding_forward(half2* __restrict__ out, const half2* __restrict__ table,
                                  const Index* __restrict__ ids, int num_pairs) {
    const Index id = ids[blockIdx.x];
    for (int i = threadIdx.x; i < num_pairs; i += blockDim.x) {
        const half2 zero = __half2half2(__float2half(0.0f));
        out[size_t(blockIdx.x) * num_pairs + i] = id < 0 ? zero : __ldg(&table[id * num_pairs + i]);
    }
}

template <typename Index>
__global__ void embedding_backward(half2* grad_table, const half2* __restrict__ grad_out,
                                   const Index* __restrict__ ids, int num_pairs) {
    const Index id = ids[blockIdx.x];
    if (id < 0) return;
    for (int i = threadIdx.x; i < num_pairs; i += blockDim.x) {
        atomicAdd(grad_table + id * num_pairs + i, grad_out[size_t(blockIdx.x) * num_pairs + i]);
    }
}
