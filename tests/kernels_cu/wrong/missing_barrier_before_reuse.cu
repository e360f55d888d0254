// The next round overwrites what slow warps still read.
// launch: grid 1 block 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float tile[64];
  float sum = 0.0f;
  for (int round = 0; round < 3; ++round) {
    tile[threadIdx.x] = x[threadIdx.x] * round;  // here: shared_race
    __syncthreads();
    sum += tile[63 - threadIdx.x];
  }
  y[threadIdx.x] = sum;
}
