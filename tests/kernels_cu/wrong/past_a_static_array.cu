// An index past the end of a shared array leads into the next one.
// launch: grid 1 block 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float low[64];
  __shared__ float high[64];
  low[threadIdx.x] = x[threadIdx.x];
  high[threadIdx.x] = -x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = high[threadIdx.x] + low[threadIdx.x + 1];  // here: out_of_bounds
}
