// Words of shared memory whose reads are right and need not be remembered, for others have read
// them since the last synchronisation: by any warp, until the block's next, or by one, until its
// own next. What one thread has read, it may read again until then.
#pragma once

#include <cstdint>

#include "ordering.h"
#include "shadow.h"
#include "zeros.h"

namespace paged_interpret {

class SettledWords {
public:
    explicit SettledWords(size_t num_bytes) : periods_(num_bytes / Shadow::kWordBytes + 1) {}

    // Whether all words of a read by the current lane are settled: whole ones, or part of one.
    bool hold(uint64_t offset, uint64_t num_bytes, const Ordering& ordering) const {
        const uint64_t* periods = &periods_[offset / Shadow::kWordBytes];
        return hold(periods, num_bytes, ordering.period()) ||
               hold(periods, num_bytes, ordering.period_of(current_lane->warp_index)) ||
               hold(periods, num_bytes, ordering.period_of_thread(current_thread()));
    }
    // Settles a word for a period, of all warps, of one, or of a thread.
    void add(uint64_t offset, uint64_t period) { periods_[offset / Shadow::kWordBytes] = period; }
    // Forgets the words from one offset to another.
    void remove(uint64_t begin, uint64_t end) {
        for (uint64_t at = begin / Shadow::kWordBytes; at * Shadow::kWordBytes < end; ++at) {
            periods_[at] = 0;
        }
    }

private:
    static bool hold(const uint64_t* periods, uint64_t num_bytes, uint64_t period) {
        for (uint64_t i = 0; i * Shadow::kWordBytes < num_bytes; ++i) {
            if (periods[i] != period) return false;
        }
        return true;
    }

    Zeros<uint64_t> periods_;  // in which each word is settled
};

}  // namespace paged_interpret
