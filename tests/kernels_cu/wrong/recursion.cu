// Recursion without end.
// launch: grid 1 block 1
// without a line: crash

__device__ __noinline__ float deeper(const float* x, int depth) {
  volatile float frame[64];
  frame[depth % 64] = x[0];
  return depth < 0 ? 0.0f : deeper(x, depth + 1) + frame[depth % 64];
}

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  y[0] = deeper(x, 0);
}
