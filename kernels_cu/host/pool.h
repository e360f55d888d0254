// A pool of threads that share the items of a loop. A result must not depend on who computes which
// item: then it is the same for any number of threads.
#pragma once
#include <cstdint>
#include <type_traits>

namespace paged_host {

using Body = void (*)(void* context, int64_t begin, int64_t end);

// Calls body on disjoint ranges of at most chunk_items that cover [0, num_items), on the caller and
// up to num_threads - 1 workers, and returns when all are done. The last ranges are smaller, down to
// a quarter of the others. A caller that finds the workers busy with another's loop runs its own
// alone. The body must not call this itself.
void run_parallel(int num_threads, int64_t num_items, int64_t chunk_items, Body body,
                  void* context);

// The same for anything callable as body(begin, end).
template <typename Callable>
void parallel_for(int num_threads, int64_t num_items, int64_t chunk_items, Callable&& body) {
    using Plain = std::remove_reference_t<Callable>;
    run_parallel(
        num_threads, num_items, chunk_items,
        [](void* context, int64_t begin, int64_t end) {
            (*static_cast<Plain*>(context))(begin, end);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
}

inline int64_t ceil_div(int64_t total, int64_t part) { return (total + part - 1) / part; }

// Less than this is not worth waking a thread for.
constexpr int64_t kLeastChunkBytes = 1 << 15;

// Items of item_size that come to a size; one at least, where they have none too.
inline int64_t items_of(int64_t size, int64_t item_size) { return size / (item_size + 1) + 1; }

// Items of a chunk, so that each thread gets a few chunks: one that is held up is not waited for.
inline int64_t chunk_of(int num_threads, int64_t num_items, int64_t least_items) {
    constexpr int64_t kChunksPerThread = 4;
    const int64_t items = ceil_div(num_items, num_threads * kChunksPerThread);
    return items < least_items ? least_items : items;
}

}  // namespace paged_host
