// __pipeline_memcpy_async and its kin, on the interpreter's asynchronous copies: the destination
// is poison until the copying thread has waited.
#pragma once

#include "../numerics/alignment.h"

// Copies all but the last `zeroed_bytes` of `bytes`, which become zero.
inline void __pipeline_memcpy_async(
    void* shared_dst, const void* global_src, unsigned long bytes, unsigned long zeroed_bytes = 0,
    paged_interpret::Site site = paged_interpret::Site::here()) {
    using namespace paged_interpret;
    if (bytes != 4 && bytes != 8 && bytes != 16) {
        fail_at("__pipeline_memcpy_async copies 4, 8 or 16 bytes", site);
    }
    if (zeroed_bytes > bytes) {
        fail_at("__pipeline_memcpy_async zeroes more bytes than it copies", site);
    }
    require_aligned(shared_dst, bytes, "__pipeline_memcpy_async to a misaligned address", site);
    require_aligned(global_src, bytes, "__pipeline_memcpy_async from a misaligned address", site);
    async_copy(shared_dst, global_src, static_cast<int>(bytes),
               static_cast<int>(bytes - zeroed_bytes));
}

inline void __pipeline_commit() {
    paged_interpret::async_commit();
}

// Waits until at most `groups_left` of this thread's newest groups are still on their way.
inline void __pipeline_wait_prior(unsigned long groups_left) {
    paged_interpret::async_wait(static_cast<int>(groups_left));
}
