// What cooperative groups tell and do, one row of results a fact; a block of 96 threads.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// Ranks and sizes.
extern "C" __global__ void shapes(int* out) {
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    const auto eight = cg::tiled_partition<8>(warp);
    const int thread = block.thread_rank();
    const dim3 place = block.thread_index();
    const int facts[] = {
        static_cast<int>(place.x + 32 * place.y),
        static_cast<int>(block.size()),
        static_cast<int>(block.group_index().x),
        static_cast<int>(warp.thread_rank()),
        static_cast<int>(warp.meta_group_rank()),
        static_cast<int>(warp.meta_group_size()),
        static_cast<int>(eight.thread_rank()),
        static_cast<int>(eight.size()),
        static_cast<int>(eight.meta_group_rank()),
        static_cast<int>(eight.meta_group_size()),
    };
    for (int row = 0; row < 10; ++row) out[96 * row + thread] = facts[row];
}

// Exchanges within tiles of eight, between whose calls whole warps meet.
extern "C" __global__ void exchanges(const int* in, int* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto eight = cg::tiled_partition<8>(warp);
    const int thread = cg::this_thread_block().thread_rank();
    const int value = in[thread];
    int is_match;
    int row = 0;
    const auto put = [&](int fact) { out[96 * row++ + thread] = fact; };
    put(eight.shfl(value, 3));
    put(warp.shfl(value, 3));
    put(eight.shfl_up(value, 2));
    put(eight.shfl_down(value, 2));
    put(eight.shfl_xor(value, 5));
    put(eight.any(value == 17));
    put(eight.all(value != 17));
    put(eight.ballot(value % 3 == 0));
    put(eight.match_any(value % 4));
    put(eight.match_all(value / 8, is_match));
    put(is_match);
    put(warp.match_all(value / 8, is_match));
}

// Reductions and scans of a tile, and of the odd lanes alone.
extern "C" __global__ void folds(const float* in, float* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto eight = cg::tiled_partition<8>(warp);
    const int thread = cg::this_thread_block().thread_rank();
    const float value = in[thread];
    int row = 0;
    const auto put = [&](float fact) { out[96 * row++ + thread] = fact; };
    put(cg::reduce(warp, value, cg::plus<float>()));
    put(cg::reduce(eight, value, cg::less<float>()));
    put(cg::reduce(eight, value, cg::greater<float>()));
    put(cg::reduce(eight, thread, cg::bit_xor<int>()));
    put(cg::reduce(eight, value, [](float a, float b) { return a * b; }));
    put(cg::inclusive_scan(eight, value));
    put(cg::exclusive_scan(eight, value));
    if (thread % 2 == 1) {
        const auto odd = cg::coalesced_threads();
        put(odd.size());
        put(odd.thread_rank());
        put(odd.shfl(value, 1));
        put(odd.ballot(thread % 4 == 1));
        put(cg::reduce(odd, thread, cg::plus<int>()));
        const auto thirds = cg::labeled_partition(odd, thread % 3);
        put(thirds.size());
        put(thirds.meta_group_rank());
        const auto parity = cg::binary_partition(odd, thread % 4 == 1);
        put(parity.size());
    }
}

// Sums in shared memory over a group that is known at run time only.
__device__ int sum_in_shared(cg::thread_group group, int* scratch, int value) {
    const int rank = group.thread_rank();
    for (int half = group.size() / 2; half > 0; half /= 2) {
        scratch[rank] = value;
        group.sync();
        if (rank < half) value += scratch[rank + half];
        group.sync();
    }
    return value;
}

extern "C" __global__ void barriers(const int* in, int* out) {
    __shared__ int copied[96];
    __shared__ int scratch[96];
    const cg::thread_block block = cg::this_thread_block();
    const int thread = block.thread_rank();
    cg::memcpy_async(block, copied, in, sizeof copied);
    cg::wait(block);
    const int value = copied[95 - thread];
    const cg::thread_group sixteen = cg::tiled_partition(block, 16);
    out[thread] = sum_in_shared(sixteen, scratch + thread / 16 * 16, value);
    cg::sync(block);
    const auto warp = cg::tiled_partition<32>(block);
    out[96 + thread] = sum_in_shared(warp, scratch + thread / 32 * 32, value);
    cg::invoke_one(warp, [&] { out[192 + thread] = value; });
}
