// Lanes exchange through shared memory, with a shuffle in between that orders none.
// launch: grid 1 block 32

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  __shared__ float row[32];
  row[threadIdx.x] = x[threadIdx.x];
  const float total = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
  y[threadIdx.x] = total + row[31 - threadIdx.x];  // here: warp_race
}
