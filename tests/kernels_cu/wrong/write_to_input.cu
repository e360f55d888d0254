// Scales in place what it was only given to read.
// launch: grid 1 block 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  float* scaled = const_cast<float*>(x);
  scaled[threadIdx.x] *= 2.0f;  // here: write_to_input
  y[threadIdx.x] = scaled[threadIdx.x];
}
