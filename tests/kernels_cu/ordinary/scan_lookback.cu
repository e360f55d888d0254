// Inclusive prefix sum in one pass (decoupled look-back, Merrill and Garland 2016).
// A block takes its tile from a counter, so that every earlier tile is already running; it
// publishes (status, value) as one 64-bit word, which makes the two parts arrive together.
#include <stdint.h>

#define TILE_THREADS 64
#define ITEMS_PER_THREAD 4
#define TILE_ITEMS (TILE_THREADS * ITEMS_PER_THREAD)

enum TileStatus : uint32_t { kEmpty = 0, kAggregate = 1, kPrefix = 2 };

struct TileState {
    unsigned long long* words;

    __device__ void publish(int tile, TileStatus status, int value) {
        const unsigned long long word =
            (static_cast<unsigned long long>(status) << 32) | static_cast<uint32_t>(value);
        atomicExch(&words[tile], word);
    }

    __device__ TileStatus poll(int tile, int& value) const {
        const unsigned long long word =
            *const_cast<volatile unsigned long long*>(&words[tile]);
        value = static_cast<int>(word & 0xffffffffu);
        return static_cast<TileStatus>(word >> 32);
    }
};

__device__ int warp_inclusive_scan(int value) {
    const int lane = threadIdx.x & 31;
    for (int delta = 1; delta < 32; delta <<= 1) {
        const int below = __shfl_up_sync(0xffffffff, value, delta);
        if (lane >= delta) value += below;
    }
    return value;
}

// The sum of all tiles before this one. Called by one warp; lane k looks at tile - 1 - k.
__device__ int look_back(TileState state, int tile) {
    const int lane = threadIdx.x & 31;
    int sum = 0;
    for (int base = tile - 1;; base -= 32) {
        int value = 0;
        TileStatus status = kPrefix;  // before the first tile there is nothing
        if (base - lane >= 0) {
            do {
                status = state.poll(base - lane, value);
            } while (status == kEmpty);
        }
        const unsigned has_prefix = __ballot_sync(~0u, status == kPrefix);
        const int nearest = has_prefix ? __ffs(has_prefix) - 1 : 31;
        if (lane > nearest) value = 0;
        for (int mask = 16; mask; mask >>= 1) value += __shfl_xor_sync(~0u, value, mask);
        sum += value;
        if (has_prefix) return sum;
    }
}

extern "C" __global__ void __launch_bounds__(TILE_THREADS)
    inclusive_scan(const int* __restrict__ in, int* __restrict__ out,
                   unsigned long long* tile_words, int* next_tile, int num_items) {
    __shared__ int tile;
    __shared__ int warp_totals[TILE_THREADS / 32];
    __shared__ int tile_prefix;
    TileState state{tile_words};

    if (threadIdx.x == 0) tile = atomicAdd(next_tile, 1);
    __syncthreads();

    const int first = tile * TILE_ITEMS + threadIdx.x * ITEMS_PER_THREAD;
    int items[ITEMS_PER_THREAD];
    int total = 0;
#pragma unroll
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) {
        total += first + i < num_items ? in[first + i] : 0;
        items[i] = total;
    }
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int scanned = warp_inclusive_scan(total);
    if (lane == 31) warp_totals[warp] = scanned;
    __syncthreads();
    int before = scanned - total, aggregate = 0;
    for (int w = 0; w < TILE_THREADS / 32; ++w) {
        if (w < warp) before += warp_totals[w];
        aggregate += warp_totals[w];
    }

    if (warp == 0) {
        if (lane == 0) state.publish(tile, tile == 0 ? kPrefix : kAggregate, aggregate);
        const int prefix = tile == 0 ? 0 : look_back(state, tile);
        if (lane == 0) {
            if (tile > 0) state.publish(tile, kPrefix, prefix + aggregate);
            tile_prefix = prefix;
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) {
        if (first + i < num_items) out[first + i] = tile_prefix + before + items[i];
    }
}
