// Warp collectives, the warp barrier and the active mask.
#include "block.h"
#include "observation.h"
#include "report.h"

namespace paged_interpret {

namespace {

constexpr char kWarpBarrier = 0;

void profile_collective(const void* place, Site site, unsigned lanes) {
    if (Profiler* profiler = current_profiler()) profiler->begin_collective(place, site, lanes);
}

void profile_end() {
    if (Profiler* profiler = current_profiler()) profiler->end_collective();
}

Meeting& open_meeting(Warp& warp, unsigned mask, const void* kind, Site site) {
    for (unsigned i = 0; i < warp.num_meetings; ++i) {
        Meeting& meeting = warp.meetings[i];
        if (meeting.mask == mask && meeting.kind == kind && same_site(meeting.site, site)) {
            return meeting;
        }
        // Only two meetings that wait for each other's lanes can never both be held: part of a
        // warp may meet while the rest of it already waits for all.
        const bool waits_for_caller = (meeting.mask >> current_lane->lane_index & 1) != 0;
        if (!waits_for_caller || (meeting.arrived & mask) == 0) continue;
        fail_format(site,
                    "divergent collective: lanes 0x%08x of the warp wait for mask 0x%08x at %s:%d, "
                    "this thread came for mask 0x%08x at %s:%d",
                    meeting.arrived, meeting.mask, meeting.site.file, meeting.site.line, mask,
                    site.file, site.line);
    }
    Meeting& meeting = warp.meetings[warp.num_meetings++];
    meeting = Meeting{mask, 0, kind, site};
    return meeting;
}

void close_meeting(Warp& warp, const Meeting* meeting) {
    current_block->observe_meeting(warp, meeting->mask);
    warp.meetings[meeting - warp.meetings] = warp.meetings[--warp.num_meetings];
}

void check_mask(const Warp& warp, unsigned lane, unsigned mask, Site site) {
    if ((mask >> lane & 1) == 0) {
        fail_format(site, "divergent collective: lane %u is not in its own mask 0x%08x", lane, mask);
    }
    if ((mask & warp.ended) != 0) {
        fail_format(site,
                    "divergent collective: mask 0x%08x names lanes that have ended: 0x%08x", mask,
                    mask & warp.ended);
    }
}

__attribute__((noinline)) Deposit* const* join_slowly(unsigned* mask, const void* kind, Site site,
                                                      const void* place) {
    Block& block = *current_block;
    LaneState& lane = block.self();
    Warp& warp = *lane.warp;
    const unsigned bit = 1u << lane.lane_index;
    *mask &= warp.present;
    if (*mask == bit) {
        profile_collective(place, site, *mask);
        return warp.deposits;
    }
    check_mask(warp, lane.lane_index, *mask, site);
    Meeting& meeting = open_meeting(warp, *mask, kind, site);
    meeting.arrived |= bit;
    if (meeting.arrived == meeting.mask) {
        close_meeting(warp, &meeting);
        profile_collective(place, site, *mask);
        return warp.deposits;
    }
    block.wait(Phase::at_collective, site, *mask);
    return nullptr;
}

}  // namespace

Deposit* const* join_collective(unsigned* mask, Deposit* deposit, const void* kind, Site site) {
    auto& lane = static_cast<LaneState&>(*current_lane);
    Warp& warp = *lane.warp;
    Meeting& meeting = warp.meetings[0];
    const unsigned bit = 1u << lane.lane_index;
    const unsigned awaited = meeting.mask & ~meeting.arrived;
    warp.deposits[lane.lane_index] = deposit;
    // All but the first and the last to arrive, where they do no more than wait. Without a call, so
    // that no register is saved but by the switch.
    if (warp.num_meetings == 1 && meeting.mask == *mask && meeting.kind == kind &&
        meeting.site.file == site.file && meeting.site.line == site.line &&
        (awaited & bit) != 0 && awaited != bit) {
        warp.ready &= ~bit;
        if (LaneState* next = warp.next()) {
            meeting.arrived |= bit;
            lane.phase = Phase::at_collective;
            lane.site = site;
            lane.mask = meeting.mask;
            switch_lanes(lane, *next);
            return nullptr;
        }
        warp.ready |= bit;
    }
    return join_slowly(mask, kind, site, __builtin_return_address(0));
}

void finish_collective(unsigned mask) {
    Block& block = *current_block;
    profile_end();
    if (mask == 1u << block.self().lane_index) return;
    block.wake(block.warp(), mask);
    block.give_way();
}

void sync_warp(unsigned mask, Site site) {
    Block& block = *current_block;
    LaneState& lane = block.self();
    Warp& warp = block.warp();
    const unsigned bit = 1u << lane.lane_index;
    mask &= warp.present & ~warp.ended;
    if (mask == bit) return;
    check_mask(warp, lane.lane_index, mask, site);
    Meeting& meeting = open_meeting(warp, mask, &kWarpBarrier, site);
    meeting.arrived |= bit;
    if (meeting.arrived == meeting.mask) {
        close_meeting(warp, &meeting);
        profile_collective(__builtin_return_address(0), site, mask);
        profile_end();
        block.sanitize_warp_barrier(warp, mask);
        block.wake(warp, mask);
        block.give_way();
        return;
    }
    block.wait(Phase::at_warp_barrier, site, mask);
}

unsigned active_mask(Site site) {
    Block& block = *current_block;
    LaneState& lane = block.self();
    block.warp().asking |= 1u << lane.lane_index;
    block.wait(Phase::at_active_mask, site, 0);
    return lane.answer;
}

// A warp barrier goes on without the lane that ended; a collective that needs it cannot.
void Block::leave_meetings(Warp& warp, const LaneState& ended) {
    const unsigned bit = 1u << ended.lane_index;
    for (unsigned i = warp.num_meetings; i-- > 0;) {
        Meeting& meeting = warp.meetings[i];
        if ((meeting.mask & bit) == 0) continue;
        if (meeting.kind != &kWarpBarrier) {
            fail_format(meeting.site,
                        "divergent collective: lanes 0x%08x of the warp wait for mask 0x%08x, but "
                        "lane %u, which it names, has ended",
                        meeting.arrived, meeting.mask, ended.lane_index);
        }
        meeting.mask &= ~bit;
        if (meeting.arrived != meeting.mask) continue;
        const unsigned lanes = meeting.mask;
        close_meeting(warp, &meeting);
        sanitize_warp_barrier(warp, lanes);
        wake(warp, lanes);
    }
}

}  // namespace paged_interpret
