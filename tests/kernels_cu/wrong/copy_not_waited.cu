// Reads the destination of a copy that was never waited for in time.
// launch: grid 1 block 32

#include "portable.cuh"

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ alignas(16) float tile[32];
  if (threadIdx.x < 8) paged::cp_async<16>(tile + 4 * threadIdx.x, x + 4 * threadIdx.x);
  paged::cp_async_commit();
  __syncwarp();
  y[threadIdx.x] = tile[threadIdx.x];  // here: copy_not_waited
  paged::cp_async_wait<0>();
}
