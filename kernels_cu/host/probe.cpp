// What the machine can do, for benchmarks to set times beside: products of registers, and bytes read.
#include "host_export.h"
#include "pool.h"
#include "vec.h"

namespace paged_host {
namespace {

// More chains than latency times issue width, on any x86-64.
constexpr int kChains = 12;
constexpr int64_t kStreamChunkBytes = 1 << 20;
constexpr int64_t kVectorsAtOnce = 8;

float multiply(int64_t num_rounds) {
    Vec sums[kChains];
    for (Vec& sum : sums) sum = broadcast(1.0f);
    const Vec factor = broadcast(0.999f), term = broadcast(0.001f);
    for (int64_t i = 0; i < num_rounds; ++i) {
#pragma GCC unroll 12
        for (Vec& sum : sums) sum = fma(sum, factor, term);
    }
    Vec total{};
    for (Vec sum : sums) total += sum;
    return sum_lanes(total);
}

// Of 16 bits and in integers; one factor of each product comes from memory, as in a linear layer.
float multiply_pairs(int64_t num_rounds) {
    IntVec sums[kChains]{}, factors[kChains]{};
    const IntVec weight = IntVec{} + 1;
    const IntVec* from = factors;
    for (int64_t i = 0; i < num_rounds; ++i) {
        asm volatile("" : "+r"(from));  // may lie elsewhere now, or products are computed once
#pragma GCC unroll 12
        for (int chain = 0; chain < kChains; ++chain) {
            sums[chain] += dot_pairs(from[chain], weight);
        }
    }
    IntVec total{};
    for (IntVec sum : sums) total += sum;
    return static_cast<float>(total[0]);
}

// Has each thread multiply; an item leaves one sum.
template <float (*kMultiply)(int64_t)>
void on_each_thread(int64_t num_rounds, float* sums, int num_threads) {
    parallel_for(num_threads, num_threads, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) sums[i] = kMultiply(num_rounds);
    });
}

float read(const char* from, int64_t num_bytes) {
    Vec sums[kVectorsAtOnce]{};
    constexpr int64_t kStride = kVectorsAtOnce * static_cast<int64_t>(sizeof(Vec));
    for (int64_t at = 0; at + kStride <= num_bytes; at += kStride) {
        for (int64_t i = 0; i < kVectorsAtOnce; ++i) {
            sums[i] += load<Vec>(from + at + i * static_cast<int64_t>(sizeof(Vec)));
        }
    }
    Vec total{};
    for (Vec sum : sums) total += sum;
    return sum_lanes(total);
}

}  // namespace
}  // namespace paged_host

// Computes num_threads * num_rounds * kChains fused multiply-adds of vectors: 2 * lanes flops each.
PAGED_EXPORT void paged_host_probe_flops(int64_t num_rounds, float* sums, int num_threads) {
    using namespace paged_host;
    on_each_thread<multiply>(num_rounds, sums, num_threads);
}

// As many vectors of products of integers, two in each lane: 4 * lanes operations each.
PAGED_EXPORT void paged_host_probe_pairs(int64_t num_rounds, float* sums, int num_threads) {
    using namespace paged_host;
    on_each_thread<multiply_pairs>(num_rounds, sums, num_threads);
}

// Reads the blocks that a table lists, block_bytes each, as threads would read keys and values; a
// block leaves one sum. block_bytes counts whole groups of kVectorsAtOnce.
PAGED_EXPORT void paged_host_probe_blocks(const char* pool, const int* table, int64_t num_blocks,
                                          int64_t block_bytes, float* sums, int num_threads) {
    using namespace paged_host;
    const int64_t chunk = chunk_of(num_threads, num_blocks, 1);
    parallel_for(num_threads, num_blocks, chunk, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            sums[i] = read(pool + table[i] * block_bytes, block_bytes);
        }
    });
}

// Reads num_bytes, as threads would read a weight; a chunk leaves one sum.
PAGED_EXPORT void paged_host_probe_stream(const char* from, int64_t num_bytes, float* sums,
                                          int num_threads) {
    using namespace paged_host;
    const int64_t num_chunks = num_bytes / kStreamChunkBytes;
    parallel_for(num_threads, num_chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            sums[i] = read(from + i * kStreamChunkBytes, kStreamChunkBytes);
        }
    });
}
