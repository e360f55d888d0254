// The barrier of a block, with its count of predicates.
#include "block.h"
#include "observation.h"
#include "report.h"

namespace paged_interpret {

unsigned num_block_threads() { return current_block->num_threads(); }

int sync_block(int predicate, Site site) {
    Block& block = *current_block;
    Block::Barrier& barrier = block.barrier;
    const LaneState& lane = block.self();
    if (barrier.num_arrived == 0) {
        barrier.site = site;
        barrier.first_arrived = lane.warp_index * kWarpSize + lane.lane_index;
    } else if (!same_site(barrier.site, site)) {
        fail_format(site, "divergent barrier: %u threads wait at %s:%d, this one came to %s:%d",
                    barrier.num_arrived, barrier.site.file, barrier.site.line, site.file,
                    site.line);
    }
    if (block.num_ended != 0) {
        fail_format(site,
                    "barrier that not all threads reach: %u of the block's %u threads have ended",
                    block.num_ended, block.num_threads());
    }
    if (Profiler* profiler = lane.lane_index == 0 ? current_profiler() : nullptr) {
        profiler->begin_collective(__builtin_return_address(0), site, block.warp().present);
        profiler->end_collective();
    }
    int& total = barrier.totals[barrier.phase & 1];
    total += predicate != 0;
    if (++barrier.num_arrived < block.num_threads()) {
        block.wait(Phase::at_block_barrier, site, 0);
        return total;
    }
    barrier.num_arrived = 0;
    barrier.totals[++barrier.phase & 1] = 0;
    block.observe_barrier();
    block.wake_all();
    block.give_way();
    return total;
}

void Block::check_barrier_after_end() {
    if (barrier.num_arrived == 0) return;
    fail_format(barrier.site,
                "barrier that not all threads reach: %u threads wait at it, and this one, of %u "
                "in the block, has ended",
                barrier.num_arrived, num_threads_);
}

}  // namespace paged_interpret
