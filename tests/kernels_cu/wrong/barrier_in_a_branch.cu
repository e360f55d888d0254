// Half of the block comes to a barrier, the rest to another.
// launch: grid 1 block 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();  // here: divergent_barrier
  }
  y[threadIdx.x] = tile[63 - threadIdx.x];
}
