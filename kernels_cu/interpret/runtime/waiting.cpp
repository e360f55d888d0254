// Turns between lanes that wait for each other in loops of their own, and what ends such a loop.
//
// Atomics, fences and clocks count towards the end of a lane's turn. Reads of volatile memory
// cannot be seen; sources that have any are compiled so that every basic block counts, as a step.
#include "block.h"
#include "launch.h"
#include "report.h"

namespace paged_interpret {

namespace {

// A turn of a spinning lane lasts about 10 us; of lanes that compute, few take more than one.
constexpr unsigned kStepsPerTurn = 4096;

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
