// The mask names lanes that are not in the branch.
// launch: grid 1 block 32

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  float value = x[threadIdx.x];
  if (threadIdx.x < 16) value += __shfl_xor_sync(0xffffffffu, value, 1);  // here: divergent_collective
  y[threadIdx.x] = value;
}
