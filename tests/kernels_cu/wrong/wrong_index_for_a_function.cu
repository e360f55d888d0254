// A function reads where its caller tells it to, past the end.
// launch: grid 1 block 64

__device__ float doubled(const float* x) {
  return 2.0f * *x;  // here: out_of_bounds
}

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  y[threadIdx.x] = doubled(x + 3 * threadIdx.x);
}
