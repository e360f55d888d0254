// One more round over a thread's own array.
// launch: grid 1 block 32

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  float sums[4] = {};
  for (int i = 0; i <= n / 8; ++i) {
    sums[i] += x[threadIdx.x];  // here: out_of_bounds
  }
  y[threadIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}
