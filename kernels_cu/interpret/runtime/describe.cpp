// Who waits where: the text of a deadlock.
#include <cstdio>

#include "block.h"

namespace paged_interpret {

namespace {

const char* doing(Phase phase) {
    switch (phase) {
        case Phase::unstarted: return "not started";
        case Phase::running: return "running";
        case Phase::at_collective: return "in a warp collective";
        case Phase::at_warp_barrier: return "at __syncwarp";
        case Phase::at_active_mask: return "at __activemask";
        case Phase::at_block_barrier: return "at __syncthreads";
        case Phase::yielded: return "in a waiting loop";
        case Phase::ended: return "ended";
    }
    return "lost";
}

bool has_site(Phase phase) {
    return phase == Phase::at_collective || phase == Phase::at_warp_barrier ||
           phase == Phase::at_active_mask || phase == Phase::at_block_barrier;
}

bool alike(const LaneState& a, const LaneState& b) {
    if (a.phase != b.phase) return false;
    if (!has_site(a.phase)) return true;
    return a.mask == b.mask && same_site(a.site, b.site);
}

int describe_group(char* text, size_t capacity, const LaneState& first, const LaneState& last) {
    char where[256] = "";
    if (first.phase == Phase::at_collective || first.phase == Phase::at_warp_barrier) {
        snprintf(where, sizeof where, " with mask 0x%08x", first.mask);
    }
    char site[256] = "";
    if (has_site(first.phase)) {
        snprintf(site, sizeof site, ", %s:%d", first.site.file, first.site.line);
    }
    const uint3& a = first.thread;
    const uint3& b = last.thread;
    if (&first == &last) {
        return snprintf(text, capacity, "  thread (%u,%u,%u): %s%s%s\n", a.x, a.y, a.z,
                        doing(first.phase), where, site);
    }
    return snprintf(text, capacity, "  threads (%u,%u,%u) to (%u,%u,%u): %s%s%s\n", a.x, a.y, a.z,
                    b.x, b.y, b.z, doing(first.phase), where, site);
}

}  // namespace

void Block::describe_lanes(char* text, size_t capacity) {
    for (unsigned i = 0; i < num_threads_; ++i) {
        LaneState& lane = lanes_[i];
        const bool is_ready = (warps_[lane.warp_index].ready >> lane.lane_index & 1) != 0;
        if (is_ready && lane.phase != Phase::unstarted) lane.phase = Phase::running;
    }
    size_t used = 0;
    unsigned first = 0;
    text[0] = 0;
    while (first < num_threads_) {
        unsigned last = first;
        while (last + 1 < num_threads_ && alike(lanes_[first], lanes_[last + 1])) ++last;
        const int length =
            describe_group(text + used, capacity - used, lanes_[first], lanes_[last]);
        if (length < 0 || used + static_cast<size_t>(length) >= capacity) return;
        used += static_cast<size_t>(length);
        first = last + 1;
    }
}

}  // namespace paged_interpret
