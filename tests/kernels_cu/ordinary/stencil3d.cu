// One explicit step of the heat equation on a 3-D grid: 7 points, fixed boundary.
// Block (8, 8, 4), x fastest; a tile with a one-cell halo in shared memory.
#include <cuda_runtime.h>

#define IDX(i, j, k) (((size_t)(k) * dims.y + (j)) * dims.x + (i))

extern "C" __global__ void heat_step(const double* __restrict__ u, double* __restrict__ u_next,
                                     int nx, int ny, int nz, double alpha) {
    __shared__ double s[6][10][10];
    const int3 dims = make_int3(nx, ny, nz);
    const int3 p = {int(blockIdx.x * blockDim.x + threadIdx.x),
                    int(blockIdx.y * blockDim.y + threadIdx.y),
                    int(blockIdx.z * blockDim.z + threadIdx.z)};
    const uint3 t = make_uint3(threadIdx.x + 1, threadIdx.y + 1, threadIdx.z + 1);
    const bool is_inside = p.x < nx && p.y < ny && p.z < nz;

    if (is_inside) {
        s[t.z][t.y][t.x] = u[IDX(p.x, p.y, p.z)];
        if (threadIdx.x == 0 && p.x > 0) s[t.z][t.y][0] = u[IDX(p.x - 1, p.y, p.z)];
        if (threadIdx.y == 0 && p.y > 0) s[t.z][0][t.x] = u[IDX(p.x, p.y - 1, p.z)];
        if (threadIdx.z == 0 && p.z > 0) s[0][t.y][t.x] = u[IDX(p.x, p.y, p.z - 1)];
        if (threadIdx.x == blockDim.x - 1 && p.x + 1 < nx)
            s[t.z][t.y][t.x + 1] = u[IDX(p.x + 1, p.y, p.z)];
        if (threadIdx.y == blockDim.y - 1 && p.y + 1 < ny)
            s[t.z][t.y + 1][t.x] = u[IDX(p.x, p.y + 1, p.z)];
        if (threadIdx.z == blockDim.z - 1 && p.z + 1 < nz)
            s[t.z + 1][t.y][t.x] = u[IDX(p.x, p.y, p.z + 1)];
    }
    __syncthreads();
    if (!is_inside) return;

    const double centre = s[t.z][t.y][t.x];
    const bool is_boundary = p.x == 0 || p.y == 0 || p.z == 0 || p.x == nx - 1 || p.y == ny - 1 ||
                             p.z == nz - 1;
    double next = centre;
    if (!is_boundary) {
        const double neighbours = s[t.z][t.y][t.x - 1] + s[t.z][t.y][t.x + 1] +
                                  s[t.z][t.y - 1][t.x] + s[t.z][t.y + 1][t.x] +
                                  s[t.z - 1][t.y][t.x] + s[t.z + 1][t.y][t.x];
        next = centre + alpha * (neighbours - 6.0 * centre);
    }
    u_next[IDX(p.x, p.y, p.z)] = next;
}
