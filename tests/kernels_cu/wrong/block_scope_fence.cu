// The last block adds up, but fences reach its own block only.
// launch: grid 4 block 64 elements 257
__device__ unsigned arrived;

// The sum of all: blocks leave partial sums in y[1], y[2], .. and the last adds them up.
extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ bool is_last;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[1 + i] = x[i];
  __threadfence_block();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&arrived, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  __threadfence_block();
  float sum = 0.0f;
  for (int block = 0; block < gridDim.x * blockDim.x; ++block) {
    sum += y[1 + block];  // here: global_race
  }
  y[0] = sum;
}
