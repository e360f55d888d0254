// An assertion of the kernel's own.
// launch: grid 1 block 32

#include <cassert>

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  assert(threadIdx.x < 31);  // here: assertion
  y[threadIdx.x] = x[threadIdx.x];
}
