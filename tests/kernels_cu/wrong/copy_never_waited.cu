// Ends with a copy in flight.
// launch: grid 1 block 32
// without a line: copy_never_waited

#include "portable.cuh"

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ alignas(16) float tile[32];
  paged::cp_async<4>(tile + threadIdx.x, x + threadIdx.x);
  paged::cp_async_commit();
  y[threadIdx.x] = x[threadIdx.x];
}
