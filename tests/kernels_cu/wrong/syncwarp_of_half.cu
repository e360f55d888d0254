// Only half of the lanes meet before all of them read.
// launch: grid 1 block 32

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float row[32];
  row[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 16) __syncwarp(0x0000ffffu);
  y[threadIdx.x] = row[31 - threadIdx.x];  // here: warp_race
}
