// Warp 0 writes half of the elements one by one, warp 1 all of them as vectors of four.
// launch: grid 1 block 64 elements 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  if (threadIdx.x < 32) {
    y[threadIdx.x] = 0.0f;
  } else if (threadIdx.x < 48) {
    const int row = threadIdx.x - 32;
    const float4 elements = reinterpret_cast<const float4*>(x)[row];
    reinterpret_cast<float4*>(y)[row] = elements;  // here: global_race
  }
}
