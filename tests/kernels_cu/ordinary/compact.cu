// Stream compaction: keep the elements above a threshold, in any order. One atomic per group of
// lanes that keep something (warp-aggregated), through coalesced_threads.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ int aggregated_increment(int* counter) {
    cg::coalesced_group active = cg::coalesced_threads();
    int base;
    if (active.thread_rank() == 0) base = atomicAdd(counter, static_cast<int>(active.size()));
    return active.shfl(base, 0) + active.thread_rank();
}

extern "C" __global__ void compact(const float* __restrict__ in, float* __restrict__ out,
                                   int* num_kept, int num_elements, float threshold) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < num_elements;
         i += gridDim.x * blockDim.x) {
        const float value = in[i];
        if (value > threshold) out[aggregated_increment(num_kept)] = value;
    }
}
