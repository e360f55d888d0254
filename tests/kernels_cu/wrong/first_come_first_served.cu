// Elements go where a counter says.
// launch: grid 1 block 64
// without a line: order_dependent

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ int next;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  y[atomicAdd(&next, 1)] = x[threadIdx.x];
}
