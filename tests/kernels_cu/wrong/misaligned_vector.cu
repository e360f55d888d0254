// A vector load from an odd row.
// launch: grid 1 block 8 elements 64

extern "C" __global__ void wrong(const float* x, float* y, int n) {
  const float4* rows = reinterpret_cast<const float4*>(x + 7 * threadIdx.x);
  const float4 row = *rows;  // here: misaligned
  for (int i = 0; i < 8; ++i) y[8 * threadIdx.x + i] = row.x + row.y + row.z + row.w;
}
