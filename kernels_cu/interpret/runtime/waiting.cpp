// Turns between lanes that wait for each other in loops of their own, and what ends such a loop.
//
// Atomics, fences and clocks count towards the end of a lane's turn. Reads of volatile memory
// cannot be seen; sources that have any are compiled so that every basic block counts, as a step.
#include <sched.h>

#include "block.h"
#include "launch.h"
#include "report.h"

namespace paged_interpret {

namespace {

// A turn of a spinning lane lasts about 10 us; of lanes that compute, few take more than one.
constexpr unsigned kStepsPerTurn = 4096;
constexpr unsigned kMaxIdleRounds = 1000;
constexpr uint64_t kMaxIdleNs = 500'000'000;

__thread unsigned steps_left __attribute__((tls_model("initial-exec"))) = kStepsPerTurn;

}  // namespace

void begin_turn() { steps_left = kStepsPerTurn; }

void Launch::end_if_over() {
    if (is_isolated) return;  // who fails, or the caller, ends the process
    if (has_failed()) end_launch();
    if (monotonic_ns() < deadline_ns) return;
    if (claim_report(*report)) {
        report->failure = Failure::stopped;
        record_callers(*report);
        current_block->describe_lanes(report->text, sizeof report->text);
    }
    end_launch();
}

void yield_lane() {
    Block& block = *current_block;
    block.warp().yielded |= 1u << block.self().lane_index;
    block.atomics_left = kAtomicsPerYield;
    block.wait(Phase::yielded, Site{nullptr, 0}, 0);
}

void yield_sometimes() {
    if (--current_block->atomics_left == 0) yield_lane();
}

// Lanes that gave way, perhaps for what others did in their turn, may be on their way to the same
// place: each has another turn. Returns false where all have had it.
bool Block::await_yielded(Warp& warp) {
    const unsigned lanes = warp.yielded & ~warp.awaited;
    warp.yielded &= ~lanes;
    warp.awaited |= lanes;
    wake(warp, lanes);
    return lanes != 0;
}

// Lets lanes that gave way run again, now that no other can. Returns false where none did.
bool Block::wake_yielded() {
    bool any = false;
    for (unsigned w = 0; w < num_warps_; ++w) {
        any |= warps_[w].yielded != 0;
        wake(warps_[w], warps_[w].yielded);
        warps_[w].yielded = 0;
    }
    if (any) {
        // What they wait for may be the work of another block.
        launch_->end_if_over();
        if (launch_->request->refuses_waits != 0) refuse_endless_waits();
        sched_yield();
    }
    return any;
}

// With one OS thread, no other block gets on while the lanes of this one give way to each other.
void Block::refuse_endless_waits() {
    if (num_idle_rounds_++ == 0) idle_since_ns_ = monotonic_ns();
    if (num_idle_rounds_ < kMaxIdleRounds) return;
    if (monotonic_ns() - idle_since_ns_ < kMaxIdleNs) return;
    fail_format(Site{nullptr, 0},
                "waits for another block: all %u threads that have not ended wait for what no "
                "thread of their block will do; blocks may run one after another, in any order",
                num_threads_ - num_ended);
}

static void end_turn() {
    begin_turn();
    if (current_block == nullptr) return;  // while the library is loaded
    current_block->launch().end_if_over();
    yield_lane();
}

}  // namespace paged_interpret

// Called by the compiler's doing, at the start of each basic block.
#pragma GCC visibility push(default)
extern "C" void __sanitizer_cov_trace_pc() {
    if (--paged_interpret::steps_left == 0) paged_interpret::end_turn();
}
#pragma GCC visibility pop
