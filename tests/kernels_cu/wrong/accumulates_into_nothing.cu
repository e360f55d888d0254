// Adds to an output that starts undefined.
// launch: grid 1 block 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  y[threadIdx.x] += x[threadIdx.x];  // here: uninitialized_read
}
