// 256-bin byte histogram: one private copy of the bins a warp in shared memory, merged per block,
// then added to the global bins. Bytes are read four at a time where the pointer allows it.
#include <cstdint>
#include <cuda_runtime.h>

static constexpr int kNumBins = 256;

template <int kNumWarps>
__global__ void __launch_bounds__(kNumWarps * 32)
    byte_histogram(const uint8_t* __restrict__ data, unsigned int* bins, size_t num_bytes) {
    __shared__ unsigned int local[kNumWarps][kNumBins];
    const unsigned tid = threadIdx.x;
    for (unsigned i = tid; i < kNumWarps * kNumBins; i += blockDim.x) (&local[0][0])[i] = 0;
    __syncthreads();

    unsigned int* mine = local[tid / warpSize];
    auto count = [mine](uint8_t value) { atomicAdd(mine + value, 1u); };

    const size_t first = blockIdx.x * size_t(blockDim.x) + tid;
    const size_t stride = size_t(gridDim.x) * blockDim.x;
    const bool is_aligned = reinterpret_cast<uintptr_t>(data) % sizeof(uchar4) == 0;
    const size_t num_words = is_aligned ? num_bytes / sizeof(uchar4) : 0;
    const auto* words = reinterpret_cast<const uchar4*>(data);
    for (size_t i = first; i < num_words; i += stride) {
        const uchar4 word = words[i];
        count(word.x);
        count(word.y);
        count(word.z);
        count(word.w);
    }
    for (size_t i = num_words * sizeof(uchar4) + first; i < num_bytes; i += stride) count(data[i]);
    __syncthreads();

    for (int bin = tid; bin < kNumBins; bin += blockDim.x) {
        unsigned total = 0;
        for (int warp = 0; warp < kNumWarps; ++warp) total += local[warp][bin];
        if (total) atomicAdd(&bins[bin], total);
    }
}
