// All read a word before a barrier and after it; warp 1 then writes it, while warp 0 may still read.
// launch: grid 1 block 64 elements 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float word;
  if (threadIdx.x == 0) word = x[0];
  __syncthreads();
  float sum = word;
  __syncthreads();
  sum += word;
  __syncwarp();
  if (threadIdx.x == 32) word = sum;  // here: shared_race
  y[threadIdx.x] = sum;
}
