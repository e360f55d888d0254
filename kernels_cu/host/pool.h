// A pool of threads that share the items of a loop. A result must not depend on who computes which
// item: then it is the same for any number of threads.
#pragma once
#include <cstdint>
#include <type_traits>

namespace paged_host {

using Body = void (*)(void* context, int64_t begin, int64_t end);

// Calls body on disjoint ranges of at most chunk_items that cover [0, num_items), on the caller and
// up to num_threads - 1 workers, and returns when all are done. A caller that finds the workers busy
// with another's loop runs its own alone. The body must not call this itself.
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

// Items of a chunk, so that each thread gets a few chunks: one that is held up is not waited for.
inline int64_t chunk_of(int num_threads, int64_t num_items, int64_t least_items) {
    constexpr int64_t kChunksPerThread = 4;
    const int64_t num_chunks = num_threads * kChunksPerThread;
    const int64_t items = (num_items + num_chunks - 1) / num_chunks;
    return items < least_items ? least_items : items;
}

}  // namespace paged_host
