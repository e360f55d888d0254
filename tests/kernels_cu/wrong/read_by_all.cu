// Two warps read a word, then warp 1 writes it after a barrier of its own: none with warp 0.
// launch: grid 1 block 64 elements 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float word;
  if (threadIdx.x == 0) word = x[0];
  __syncthreads();
  const float value = word;
  __syncwarp();
  y[threadIdx.x] = value + word;
  __syncwarp();
  if (threadIdx.x == 32) word = value;  // here: shared_race
}
