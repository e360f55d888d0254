// A grid that is rounded up, and no mask.
// launch: grid 2 block 96 elements 128

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = static_cast<float>(i);  // here: out_of_bounds
}
