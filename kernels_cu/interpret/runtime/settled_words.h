// Words of shared memory whose reads are right and need not be remembered, for others have read
// them since the last synchronisation: by any warp, until the block's next, or by one, until its
// own next.
#pragma once

#include <cstdint>
#include <vector>

#include "ordering.h"
#include "shadow.h"

namespace paged_interpret {

class SettledWords {
public:
    explicit SettledWords(size_t num_bytes) : lines_(num_bytes / kLineBytes + 1) {}

    // Whether all words of a read by a warp are settled.
    bool hold(uint64_t offset, uint64_t num_bytes, const Ordering& ordering, unsigned warp) const {
        const uint64_t in_word = offset % Shadow::kWordBytes;
        if (in_word != 0 && in_word + num_bytes > Shadow::kWordBytes) return false;
        const uint64_t first = offset % kLineBytes / Shadow::kWordBytes;
        const uint64_t num_words = (num_bytes + Shadow::kWordBytes - 1) / Shadow::kWordBytes;
        if (first + num_words > kLineWords) return false;
        const uint64_t words = ((uint64_t{1} << num_words) - 1) << first;
        const uint64_t relevant = words | ~kAllWords;
        const Line& line = lines_[offset / kLineBytes];
        if ((line.of_all & relevant) == (ordering.period() | words)) return true;
        return (line.of_one & relevant) == (ordering.period_of(warp) | words);
    }
    void add_for_all(uint64_t offset, const Ordering& ordering) {
        add(lines_[offset / kLineBytes].of_all, offset, ordering.period());
    }
    void add_for_one(uint64_t offset, const Ordering& ordering, unsigned warp) {
        add(lines_[offset / kLineBytes].of_one, offset, ordering.period_of(warp));
    }
    // Forgets the words from one offset to another.
    void remove(uint64_t begin, uint64_t end) {
        for (uint64_t at = begin / Shadow::kWordBytes * Shadow::kWordBytes; at < end;
             at += Shadow::kWordBytes) {
            lines_[at / kLineBytes].of_all &= ~bit_of(at);
            lines_[at / kLineBytes].of_one &= ~bit_of(at);
        }
    }

private:
    // A bit for each word, below the number of the period that they are settled in.
    struct Line {
        uint64_t of_all, of_one;
    };
    static constexpr unsigned kLineWords = Ordering::kPeriodShift;
    static constexpr uint64_t kAllWords = (uint64_t{1} << kLineWords) - 1;
    static constexpr uint64_t kLineBytes = kLineWords * Shadow::kWordBytes;

    static uint64_t bit_of(uint64_t offset) {
        return uint64_t{1} << offset % kLineBytes / Shadow::kWordBytes;
    }
    static void add(uint64_t& settled, uint64_t offset, uint64_t period) {
        if ((settled & ~kAllWords) != period) settled = period;
        settled |= bit_of(offset);
    }

    std::vector<Line> lines_;
};

}  // namespace paged_interpret
