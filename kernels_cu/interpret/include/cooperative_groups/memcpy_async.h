// Asynchronous copies to shared memory by a group.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

// Copies num_bytes, each thread of the group its share of four-byte words; the last copies what
// is left of a word.
template <class Group, class T>
inline void memcpy_async(const Group& group, T* shared_dst, const T* global_src,
                         unsigned long num_bytes) {
    constexpr unsigned long kWordBytes = 4;
    auto* to = reinterpret_cast<char*>(shared_dst);
    const auto* from = reinterpret_cast<const char*>(global_src);
    const unsigned long step = kWordBytes * group.size();
    for (unsigned long at = kWordBytes * group.thread_rank(); at < num_bytes; at += step) {
        const unsigned long left = num_bytes - at;
        const int bytes = static_cast<int>(left < kWordBytes ? left : kWordBytes);
        paged_interpret::async_copy(to + at, from + at, bytes, bytes);
    }
    paged_interpret::async_commit();
}

// Waits for all copies but the newest `groups_left` calls, then for the other threads.
template <unsigned groups_left, class Group>
inline void wait_prior(const Group& group, Site site = Site::here()) {
    paged_interpret::async_wait(static_cast<int>(groups_left));
    group.sync(site);
}

template <class Group>
inline void wait(const Group& group, Site site = Site::here()) {
    wait_prior<0>(group, site);
}

}  // namespace cooperative_groups
