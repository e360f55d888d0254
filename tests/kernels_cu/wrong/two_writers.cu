// Threads 2 i and 2 i + 1 both write element i.
// launch: grid 1 block 128 elements 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  y[threadIdx.x % 64] = x[threadIdx.x / 2];  // here: global_race
}
