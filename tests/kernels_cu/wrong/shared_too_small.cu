// One float of dynamic shared memory is missing.
// launch: grid 1 block 64 shared 252

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[threadIdx.x];  // here: out_of_bounds
  __syncthreads();
  y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
