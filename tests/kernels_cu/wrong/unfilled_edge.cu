// A tile with a border that nobody fills.
// launch: grid 1 block 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float tile[66];
  tile[threadIdx.x + 1] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 1];  // here: uninitialized_shared
}
