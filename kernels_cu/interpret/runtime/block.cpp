// Scheduling of a block's lanes.
#include "block.h"

#include <cstring>

#include "../device.h"
#include "lane_order.h"
#include "launch.h"
#include "observation.h"
#include "sanitizer.h"
#include "shared_memory.h"

namespace paged_interpret {

__thread Lane* current_lane = nullptr;
__thread Geometry geometry = {};
__thread Block* current_block = nullptr;

void Block::run(Launch& launch, uint64_t index) {
    set_up(launch, index);
    set_up_lanes();
    const SharedMemory shared(*launch.request);
    shared.poison();
    if (current_sanitizer != nullptr) current_sanitizer->begin_block(index, num_threads_, shared);
    current_block = this;
    LaneState& first = *pick();
    first.phase = Phase::running;
    first.stack = stacks_.take();
    first.stack_pointer = first.stack->prepare(&Block::run_lanes);
    current_lane = &first;
    paged_switch(&base_, first.stack_pointer);
    current_lane = nullptr;
    current_block = nullptr;
    if (launch.has_failed()) return;
    const size_t num_bytes = shared.num_bytes_past_end();
    if (num_bytes == 0) return;
    record_failure(Site{nullptr, 0},
                   "the block wrote %zu bytes past the end of its %llu bytes of dynamic shared "
                   "memory",
                   num_bytes, static_cast<unsigned long long>(launch.request->shared_bytes));
}

void Block::set_up(Launch& launch, uint64_t index) {
    const Request& request = *launch.request;
    launch_ = &launch;
    num_threads_ = launch.num_threads;
    num_warps_ = (num_threads_ + kWarpSize - 1) / kWarpSize;
    num_ended = 0;
    atomics_left = kAtomicsPerYield;
    begin_turn();
    barrier = Barrier{};
    turn_ = 0;
    num_idle_rounds_ = 0;
    natural_ = request.is_seeded == 0;
    if (natural_) {
        natural_order(lane_order_, kWarpSize);
        natural_order(warp_order_, num_warps_);
    } else {
        const uint64_t seed = mix(request.seed ^ mix(index));
        shuffle(lane_order_, kWarpSize, seed);
        shuffle(warp_order_, num_warps_, seed + kMaxBlockThreads);
    }
    const uint32_t(&grid)[3] = request.grid;
    geometry.block_index.x = static_cast<unsigned>(index % grid[0]);
    geometry.block_index.y = static_cast<unsigned>(index / grid[0] % grid[1]);
    geometry.block_index.z = static_cast<unsigned>(index / grid[0] / grid[1]);
    geometry.block_size = dim3(request.block[0], request.block[1], request.block[2]);
    geometry.grid_size = dim3(grid[0], grid[1], grid[2]);
}

void Block::set_up_lanes() {
    if (lanes_.size() < num_threads_) lanes_.resize(num_threads_);
    uint3 place{0, 0, 0};
    for (unsigned i = 0; i < num_threads_; ++i) {
        LaneState& lane = lanes_[i];
        lane.thread = place;
        lane.lane_index = i % kWarpSize;
        lane.warp_index = i / kWarpSize;
        lane.warp = &warps_[lane.warp_index];
        lane.phase = Phase::unstarted;
        lane.stack = nullptr;
        lane.num_groups = 0;
        lane.copies.clear();
        lane.path.clear();
        if (++place.x == geometry.block_size.x) {
            place.x = 0;
            if (++place.y == geometry.block_size.y) {
                place.y = 0;
                ++place.z;
            }
        }
    }
    for (unsigned w = 0; w < num_warps_; ++w) {
        const unsigned left = num_threads_ - w * kWarpSize;
        Warp& warp = warps_[w];
        warp.present = left >= kWarpSize ? kFullMask : (1u << left) - 1;
        warp.ready = warp.present;
        warp.natural_lanes = natural_ ? &lane(w, 0) : nullptr;
        warp.yielded = warp.asking = warp.awaited = warp.ended = warp.num_meetings = 0;
    }
}

// The body of every stack: one lane, then as many unstarted ones as are next.
void Block::run_lanes() {
    Block& block = *current_block;
    Stack* stack = block.self().stack;
    for (;;) {
        block.launch_->request->entry(block.launch_->request->arguments);
        block.end_lane();
        LaneState* next = block.pick();
        if (next == nullptr) break;
        LaneState& ended = block.self();
        ended.stack = nullptr;
        if (next->phase == Phase::unstarted) {
            next->stack = stack;
            next->phase = Phase::running;
            current_lane = next;
            continue;
        }
        block.stacks_.give_back(stack);
        block.resume(ended, *next);
    }
    if (block.num_ended < block.num_threads_) block.report_deadlock();
    block.leave();
}

void Block::end_lane() {
    LaneState& lane = self();
    if (!lane.copies.empty()) {
        fail_format(Site{nullptr, 0},
                    "the thread ended with %zu asynchronous copies in flight; wait for them first",
                    lane.copies.size());
    }
    const unsigned bit = 1u << lane.lane_index;
    Warp& own = warp();
    lane.phase = Phase::ended;
    own.ready &= ~bit;
    own.ended |= bit;
    ++num_ended;
    num_idle_rounds_ = 0;
    leave_meetings(own, lane);
    observe_meeting(own, 0);
    check_barrier_after_end();
}

void Block::wait(Phase phase, Site site, unsigned mask) {
    LaneState& lane = self();
    lane.phase = phase;
    lane.site = site;
    lane.mask = mask;
    lane.warp->ready &= ~(1u << lane.lane_index);
    if (LaneState* next = lane.warp->next()) return switch_lanes(lane, *next);
    LaneState* next = pick();
    if (next == nullptr) report_deadlock();
    if (next != &lane) resume(lane, *next);
}

void Block::give_way() {
    LaneState& lane = self();
    LaneState& next = *pick();
    if (&next != &lane) resume(lane, next);
}

void Block::wake_all() {
    for (unsigned w = 0; w < num_warps_; ++w) wake(warps_[w], warps_[w].present);
    turn_ = 0;
}

void Block::observe_meeting(const Warp& warp, unsigned lanes) const {
    num_idle_rounds_ = 0;
    if (current_observer == nullptr || lanes != (warp.present & ~warp.ended)) return;
    current_observer->meet(static_cast<unsigned>(&warp - warps_));
}

void Block::observe_barrier() const {
    num_idle_rounds_ = 0;
    if (current_observer != nullptr) current_observer->meet_all(num_warps_);
    if (current_sanitizer != nullptr) current_sanitizer->ordering().meet_block();
}

void Block::sanitize_warp_barrier(const Warp& warp, unsigned lanes) const {
    if (current_sanitizer == nullptr) return;
    const bool is_whole = lanes == (warp.present & ~warp.ended);
    current_sanitizer->ordering().meet_lanes(static_cast<unsigned>(&warp - warps_), lanes,
                                             is_whole);
}

void Block::resume(LaneState& from, LaneState& to) {
    if (to.phase == Phase::unstarted) {
        to.phase = Phase::running;
        to.stack = stacks_.take();
        to.stack_pointer = to.stack->prepare(&Block::run_lanes);
    }
    switch_lanes(from, to);
}

LaneState* Block::pick() {
    do {
        for (unsigned i = 0; i < num_warps_; ++i) {
            const unsigned warp_index = warp_order_[turn_];
            Warp& warp = warps_[warp_index];
            if (warp.ready != 0 || answer_askers(warp, warp_index)) {
                return &first_ready(warp, warp_index);
            }
            if (++turn_ == num_warps_) turn_ = 0;
        }
    } while (wake_yielded());
    return nullptr;
}

LaneState& Block::first_ready(Warp& warp, unsigned warp_index) {
    if (natural_) return lane(warp_index, static_cast<unsigned>(__builtin_ctz(warp.ready)));
    unsigned position = 0;
    while ((warp.ready >> lane_order_[position] & 1) == 0) ++position;
    return lane(warp_index, lane_order_[position]);
}

// Answers the lanes that ask for the active mask from one place. Returns false where none does.
bool Block::answer_askers(Warp& warp, unsigned warp_index) {
    if (warp.asking == 0) return false;
    if (await_yielded(warp)) return true;
    warp.awaited = 0;
    const Site site = lane(warp_index, static_cast<unsigned>(__builtin_ctz(warp.asking))).site;
    unsigned together = 0;
    for (unsigned left = warp.asking; left != 0; left &= left - 1) {
        const auto index = static_cast<unsigned>(__builtin_ctz(left));
        if (same_site(lane(warp_index, index).site, site)) together |= 1u << index;
    }
    for (unsigned left = together; left != 0; left &= left - 1) {
        lane(warp_index, static_cast<unsigned>(__builtin_ctz(left))).answer = together;
    }
    warp.asking &= ~together;
    wake(warp, together);
    return true;
}

void Block::leave() {
    stacks_.give_back_all();
    void* unused;
    paged_switch(&unused, base_);
    __builtin_unreachable();
}

void Block::abandon() { leave(); }

bool is_local(const void* address) { return current_block->self().stack->contains(address); }

void Block::report_deadlock() {
    char lines[kMaxTextBytes - 64];
    describe_lanes(lines, sizeof lines);
    fail_format(Site{nullptr, 0}, "deadlock: no thread of the block can run\n%s", lines);
}

}  // namespace paged_interpret
