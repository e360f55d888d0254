// Which accesses of a launch are ordered: by barriers, warp barriers, and fences with atomics.
//
// Time is a count of the block's synchronisations, its stamp. An access is ordered before a thread
// if a barrier lay between them, or a chain of fence, atomic, atomic, fence. Blocks run one after
// another, so that stamps of different blocks never mix. Only __syncwarp and barriers of the block
// order memory: shuffles, votes and matrix instructions do not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "block.h"
#include "shadow.h"

namespace paged_interpret {

// Accesses by block: of each thread, those up to a stamp.
using Stamps = std::vector<uint32_t>;
using View = std::map<uint32_t, std::shared_ptr<const Stamps>>;
using SharedView = std::shared_ptr<const View>;

inline unsigned current_thread() {
    return current_lane->warp_index * kWarpSize + current_lane->lane_index;
}

class Ordering {
public:
    void begin_block(uint32_t block, unsigned num_threads);
    // All threads of the block, or some lanes of a warp, have met at a barrier.
    void meet_block();
    void meet_lanes(unsigned warp, unsigned lanes, bool is_whole_warp);
    // A thread passed a fence, which may order memory for its own block only.
    void fence(unsigned thread, bool is_of_device);
    // A thread's atomic tells what its fences have ordered, and hears what others told there.
    void meet_at_address(unsigned thread, uint64_t address, bool is_shared_memory);

    uint32_t now() const { return now_; }
    uint32_t block() const { return block_; }
    // The block that made an access, and whether it is the one that runs.
    uint32_t block_of(const Record& record) const;
    bool is_of_this_block(const Record& record) const { return record.stamp > begin_; }
    // A number above 0 for the time since the last barrier of the block, or fence of any thread;
    // and for that since a warp's own last barrier too, another for each warp, and each thread.
    uint64_t period() const { return period_; }
    uint64_t period_of(unsigned warp) const { return warp_periods_[warp]; }
    uint64_t period_of_thread(unsigned thread) const {
        return warp_periods_[thread / kWarpSize] + kMaxWarps + 1 + thread;
    }
    // The last barriers that a thread has passed: its warp's with the rest of the warp, the block's
    // with all others.
    struct Floors {
        unsigned warp;
        uint32_t of_warp, of_block;

        // Whether a barrier lies between an access of this block, or an earlier one's of shared
        // memory, and the thread.
        bool are_past(const Record& record) const {
            return record.stamp <= (record.thread / kWarpSize == warp ? of_warp : of_block);
        }
    };
    Floors floors_of(unsigned thread) const {
        return Floors{thread / kWarpSize, warp_floors_[thread / kWarpSize], floor_};
    }
    // Whether nothing but barriers of whole warps and blocks has ordered accesses so far.
    bool is_simple() const { return is_simple_; }
    // Whether such an access is ordered before the thread.
    bool is_ordered(const Record& record, unsigned thread) const {
        if (record.thread == thread || floors_of(thread).are_past(record)) return true;
        return !is_simple_ && (is_met(record, thread) || is_seen(record, thread));
    }
    // The same for memory that blocks share.
    bool is_ordered_in_grid(const Record& record, unsigned thread) const {
        if (is_of_this_block(record)) return is_ordered(record, thread);
        return !is_simple_ && is_seen(record, thread);
    }

private:
    struct LaneView {
        SharedView seen;     // ordered before the lane
        SharedView pending;  // told by an atomic, ordered after the next fence
        SharedView fenced;   // told to others by the next atomic
        SharedView fenced_in_block;  // the same, if it is one on shared memory
    };

    struct Begin {
        uint32_t stamp;  // all accesses of the block have later ones
        uint32_t block;
    };

    // Of each warp, of all, and of each thread, whose numbers begin at its warp's.
    static constexpr uint64_t kPeriodsPerStamp = kMaxWarps + 1 + kMaxBlockThreads + kMaxWarps;

    void begin_anew();
    void begin_period(uint32_t stamp);
    void begin_period_of(unsigned warp, uint32_t stamp) {
        warp_periods_[warp] = uint64_t{stamp} * kPeriodsPerStamp + warp;
    }
    bool is_met(const Record& record, unsigned thread) const;
    bool is_seen(const Record& record, unsigned thread) const;
    void share(unsigned begin, unsigned end, unsigned lanes);
    uint32_t& met(unsigned warp, unsigned a, unsigned b) {
        return met_[(warp * kWarpSize + a) * kWarpSize + b];
    }

    uint32_t now_ = 1;
    uint32_t block_ = 0;
    uint32_t begin_ = 0;         // stamp before the block's first access
    std::vector<Begin> begins_;  // of the blocks so far
    unsigned num_threads_ = 0;
    uint32_t floor_ = 0;  // stamp of the last barrier of the block
    uint32_t warp_floors_[kMaxWarps] = {};
    uint64_t period_ = 0;
    uint64_t warp_periods_[kMaxWarps] = {};
    bool has_fences_ = false;
    bool is_simple_ = true;  // no fences so far, and no barrier of part of a warp
    std::vector<uint32_t> met_;  // by pairs of lanes: stamp of their last barrier of part of a warp
    std::vector<LaneView> lanes_;
    std::unordered_map<uint64_t, SharedView> told_;  // by address of an atomic
};

}  // namespace paged_interpret
