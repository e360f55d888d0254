// Each thread waits for its own copy, and reads another's.
// launch: grid 1 block 64

#include "portable.cuh"

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ alignas(16) float tile[64];
  paged::cp_async<4>(tile + threadIdx.x, x + threadIdx.x);
  paged::cp_async_commit();
  paged::cp_async_wait<0>();
  __syncwarp();
  y[threadIdx.x] = tile[63 - threadIdx.x];  // here: shared_race
}
