// Lanes of a warp wait at two barriers, each for the others.
// launch: grid 1 block 64
// without a line: deadlock

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  if (threadIdx.x == 0) {
    __syncwarp();
  } else {
    __syncthreads();
  }
  y[threadIdx.x] = x[threadIdx.x];
}
