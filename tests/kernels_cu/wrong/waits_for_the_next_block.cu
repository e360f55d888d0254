// A block waits for one that may only start when it has ended.
// launch: grid 2 block 32

__device__ unsigned ready[3];

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x) {
    while (atomicAdd(&ready[blockIdx.x + 1], 0u) == 0) {  // here: waits_for_block
    }
  }
  if (threadIdx.x == 0) atomicExch(&ready[blockIdx.x], 1u);
  y[i] = x[i];
}
