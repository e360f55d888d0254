// Three axes everywhere: each thread knows where it is, odd block shapes whose warps span rows
// and planes, and arrays of small vectors.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

struct Place {
    uint3 thread;
    uint3 block;
    unsigned rank;
    unsigned lane;
};
static_assert(sizeof(Place) == 32, "as the host reads it");

__device__ __forceinline__ unsigned flat(uint3 index, dim3 extent) {
    return (index.z * extent.y + index.y) * extent.x + index.x;
}

extern "C" __global__ void where_am_i(Place* places, ushort2* corners, unsigned long long* votes) {
    const cg::thread_block block = cg::this_thread_block();
    const unsigned rank = flat(threadIdx, blockDim);
    const cg::grid_group grid = cg::this_grid();
    const unsigned i = flat(blockIdx, gridDim) * block.size() + rank;
    const auto warp = cg::tiled_partition<32>(block);

    places[grid.thread_rank()] = Place{threadIdx, blockIdx, block.thread_rank(), warp.thread_rank()};
    const dim3 corner = block.group_index();
    corners[i] = make_ushort2(corner.x + corner.y, corner.z + block.group_dim().z);

    const int same = __syncthreads_count(threadIdx.y == threadIdx.z);
    const int any = __syncthreads_or(threadIdx.x + threadIdx.y + threadIdx.z == 0);
    const int all = __syncthreads_and(threadIdx.z < blockDim.z);
    const auto quad = cg::tiled_partition<4>(warp);
    const int largest = cg::reduce(quad, static_cast<int>(threadIdx.x), cg::greater<int>());
    const unsigned ballot = quad.ballot(threadIdx.x & 1);
    votes[i] = same | any << 16 | all << 20 | (unsigned long long)largest << 32 |
               (unsigned long long)ballot << 48;
}
