// Joining what threads know of each other's accesses.
#include "ordering.h"

#include <algorithm>

namespace paged_interpret {

namespace {

// Makes `into` know all that `from` does.
void join(SharedView& into, const SharedView& from) {
    if (from == nullptr || into == from) return;
    if (into == nullptr) {
        into = from;
        return;
    }
    auto joined = std::make_shared<View>(*into);
    for (const auto& [block, stamps] : *from) {
        std::shared_ptr<const Stamps>& known = (*joined)[block];
        if (known == nullptr || known == stamps) {
            known = stamps;
            continue;
        }
        auto later = std::make_shared<Stamps>(*known);
        for (size_t i = 0; i < later->size(); ++i) {
            (*later)[i] = std::max((*later)[i], (*stamps)[i]);
        }
        known = later;
    }
    into = joined;
}

}  // namespace

void Ordering::begin_block(uint32_t block, unsigned num_threads) {
    block_ = block;
    num_threads_ = num_threads;
    begin_anew();
    begin_ = floor_;
    begins_.push_back(Begin{begin_, block});
    lanes_.assign(has_fences_ ? num_threads : 0, LaneView{});
}

uint32_t Ordering::block_of(const Record& record) const {
    const auto is_before = [](const Begin& begin, uint32_t stamp) { return begin.stamp < stamp; };
    const auto next = std::lower_bound(begins_.begin(), begins_.end(), record.stamp, is_before);
    return std::prev(next)->block;
}

// All accesses so far are ordered before what follows in the block.
void Ordering::begin_anew() {
    floor_ = now_++;
    std::fill(std::begin(warp_floors_), std::end(warp_floors_), floor_);
    begin_period(floor_);
}

void Ordering::begin_period(uint32_t stamp) {
    period_ = uint64_t{stamp} * kPeriodsPerStamp + kMaxWarps;
    for (unsigned warp = 0; warp < kMaxWarps; ++warp) begin_period_of(warp, stamp);
}

void Ordering::meet_block() {
    begin_anew();
    if (has_fences_) share(0, num_threads_, kFullMask);
}

void Ordering::meet_lanes(unsigned warp, unsigned lanes, bool is_whole_warp) {
    const uint32_t stamp = now_++;
    begin_period_of(warp, stamp);
    const unsigned begin = warp * kWarpSize;
    if (has_fences_) share(begin, std::min(begin + kWarpSize, num_threads_), lanes);
    if (is_whole_warp) {
        warp_floors_[warp] = stamp;
        return;
    }
    is_simple_ = false;
    if (met_.empty()) met_.resize(kMaxWarps * kWarpSize * kWarpSize);
    for (unsigned other = 0; other < kWarpSize; ++other) {
        // Who met `other` before tells those it meets now.
        uint32_t latest = (lanes >> other & 1) != 0 ? stamp : 0;
        for (unsigned left = lanes; left != 0; left &= left - 1) {
            latest = std::max(latest, met(warp, __builtin_ctz(left), other));
        }
        for (unsigned left = lanes; left != 0; left &= left - 1) {
            met(warp, __builtin_ctz(left), other) = latest;
        }
    }
}

// Lanes of a block that meet know all that any of them does.
void Ordering::share(unsigned begin, unsigned end, unsigned lanes) {
    const auto takes_part = [begin, lanes](unsigned thread) {
        return (lanes >> (thread - begin) % kWarpSize & 1) != 0;
    };
    LaneView all;
    for (unsigned thread = begin; thread < end; ++thread) {
        if (!takes_part(thread)) continue;
        join(all.seen, lanes_[thread].seen);
        join(all.pending, lanes_[thread].pending);
        join(all.fenced, lanes_[thread].fenced);
        join(all.fenced_in_block, lanes_[thread].fenced_in_block);
    }
    for (unsigned thread = begin; thread < end; ++thread) {
        if (takes_part(thread)) lanes_[thread] = all;
    }
}

void Ordering::fence(unsigned thread, bool is_of_device) {
    if (!has_fences_) {
        has_fences_ = true;
        is_simple_ = false;
        lanes_.assign(num_threads_, LaneView{});
    }
    LaneView& lane = lanes_[thread];
    join(lane.seen, lane.pending);
    lane.pending = nullptr;
    auto own = std::make_shared<Stamps>(num_threads_, floor_);
    const unsigned warp = thread / kWarpSize;
    for (unsigned other = 0; other < num_threads_; ++other) {
        if (other / kWarpSize != warp) continue;
        uint32_t& stamp = (*own)[other];
        stamp = std::max(stamp, warp_floors_[warp]);
        if (met_.empty()) continue;
        stamp = std::max(stamp, met(warp, thread % kWarpSize, other % kWarpSize));
    }
    (*own)[thread] = now_;
    begin_period(now_++);
    SharedView& fenced = is_of_device ? lane.fenced : lane.fenced_in_block;
    join(fenced, lane.seen);
    join(fenced, std::make_shared<View>(View{{block_, own}}));
}

void Ordering::meet_at_address(unsigned thread, uint64_t address, bool is_shared_memory) {
    if (!has_fences_) return;
    LaneView& lane = lanes_[thread];
    SharedView& told = told_[address];
    join(lane.pending, told);
    join(told, lane.fenced);
    if (is_shared_memory) join(told, lane.fenced_in_block);
}

bool Ordering::is_met(const Record& record, unsigned thread) const {
    const unsigned warp = thread / kWarpSize;
    if (met_.empty() || record.thread / kWarpSize != warp) return false;
    const size_t pair = (size_t{warp} * kWarpSize + thread % kWarpSize) * kWarpSize +
                        record.thread % kWarpSize;
    return record.stamp <= met_[pair];
}

bool Ordering::is_seen(const Record& record, unsigned thread) const {
    if (!has_fences_ || lanes_[thread].seen == nullptr) return false;
    const auto found = lanes_[thread].seen->find(block_of(record));
    return found != lanes_[thread].seen->end() && record.stamp <= (*found->second)[record.thread];
}

}  // namespace paged_interpret
