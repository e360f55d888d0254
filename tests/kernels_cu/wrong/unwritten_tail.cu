// A block size that does not divide the number of elements.
// launch: grid 2 block 48 elements 100
// without a line: unwritten_output

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
