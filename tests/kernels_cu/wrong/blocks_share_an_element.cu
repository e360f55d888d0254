// Every block writes the first element.
// launch: grid 2 block 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 1) y[i] = x[i];
  if (threadIdx.x == 1) y[0] = x[i];  // here: global_race
}
