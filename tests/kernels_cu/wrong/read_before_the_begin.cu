// The first thread reads the element before the first.
// launch: grid 2 block 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float left = x[i - 1];  // here: out_of_bounds
  y[i] = x[i] - left;
}
