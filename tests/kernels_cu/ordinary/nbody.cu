// Gravity of all pairs, softened: positions stream through shared memory one tile at a time.
// float4 body = (x, y, z, mass). blockDim.x bodies a tile; dynamic shared memory: 16 bytes each.
#include <cuda_runtime.h>

extern __shared__ float4 tile[];

__device__ float3 operator+(float3 a, float3 b) {
    return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
__device__ float3 operator*(float s, float3 v) { return make_float3(s * v.x, s * v.y, s * v.z); }

__device__ float3 pull(float4 on, float4 from, float softening) {
    const float3 r = make_float3(from.x - on.x, from.y - on.y, from.z - on.z);
    const float inverse = rsqrtf(r.x * r.x + r.y * r.y + r.z * r.z + softening);
    return (from.w * inverse * inverse * inverse) * r;
}

__global__ void accelerations(const float4* bodies, float3* out, int num_bodies, float softening) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 mine = i < num_bodies ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 sum = {0.f, 0.f, 0.f};
    for (int base = 0; base < num_bodies; base += blockDim.x) {
        const int j = base + threadIdx.x;
        tile[threadIdx.x] = j < num_bodies ? bodies[j] : make_float4(0.f, 0.f, 0.f, 0.f);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < blockDim.x; ++k) sum = sum + pull(mine, tile[k], softening);
        __syncthreads();
    }
    if (i < num_bodies) out[i] = sum;
}
