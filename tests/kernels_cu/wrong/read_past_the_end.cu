// The last thread reads one element too far.
// launch: grid 2 block 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] - x[i + 1];  // here: out_of_bounds
}
