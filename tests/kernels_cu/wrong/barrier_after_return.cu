// Threads beyond the end return before the barrier.
// launch: grid 1 block 64 elements 48

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float tile[64];
  if (threadIdx.x >= n) return;
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();  // here: divergent_barrier
  y[threadIdx.x] = tile[n - 1 - threadIdx.x];
}
