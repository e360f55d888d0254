// Two stages, and a wait that leaves the one in use in flight.
// launch: grid 1 block 32 elements 64

#include "portable.cuh"

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ alignas(16) float tile[2][32];
  for (int stage = 0; stage < 2; ++stage) {
    paged::cp_async<4>(&tile[stage][threadIdx.x], x + 32 * stage + threadIdx.x);
    paged::cp_async_commit();
  }
  for (int stage = 0; stage < 2; ++stage) {
    paged::cp_async_wait<1>();
    __syncwarp();
    y[32 * stage + threadIdx.x] = tile[stage][31 - threadIdx.x];  // here: copy_not_waited
  }
  paged::cp_async_wait<0>();
}
