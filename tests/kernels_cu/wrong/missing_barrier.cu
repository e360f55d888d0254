// Warps exchange through shared memory without a barrier.
// launch: grid 1 block 128

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = tile[127 - threadIdx.x];  // here: shared_race
}
