// Warp 0 writes vectors of four elements, warp 1 half of the elements once more.
// launch: grid 1 block 64 elements 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  if (threadIdx.x < 16) {
    reinterpret_cast<float4*>(y)[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];
  } else if (threadIdx.x >= 32) {
    y[threadIdx.x - 32] = 0.0f;  // here: global_race
  }
}
