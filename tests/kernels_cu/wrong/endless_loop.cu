// A loop that never ends, and waits for nobody.
// launch: grid 1 block 32 timeout 2
// without a line: timeout

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  for (unsigned i = 0; i < static_cast<unsigned>(n); i += 0) {
    y[threadIdx.x] = x[threadIdx.x];
  }
}
