// Launches in the caller's own process, on its own memory: fast, and as safe as the kernel is.
#include <memory>

#include "observation.h"
#include "print.h"
#include "regions.h"

namespace paged_interpret {

// One launch that has run: its report and the text it printed.
struct Run {
    Report report{};
    Output output{-1};
};

}  // namespace paged_interpret

using paged_interpret::Run;

#pragma GCC visibility push(default)
extern "C" {

// Runs a launch to its end, or for as long as it may take. The operands give addresses of tensors
// to poison, and are given the counts of an observed launch.
Run* paged_run(const paged_interpret::Request* request, paged_interpret::Operand* operands,
               unsigned num_operands, uint64_t timeout_ns) {
    using namespace paged_interpret;
    auto run = std::make_unique<Run>();
    for (unsigned i = 0; i < num_operands; ++i) {
        const Operand& operand = operands[i];
        if (operand.is_poisoned == 0) continue;
        poison_operand(operand, reinterpret_cast<char*>(operand.address), request->poison);
    }
    Launch launch(*request, run->report, false);
    launch.output = &run->output;
    const uint64_t now_ns = monotonic_ns();
    if (timeout_ns < UINT64_MAX - now_ns) launch.deadline_ns = now_ns + timeout_ns;
    Observation observation(operands, num_operands, nullptr);
    if (request->is_observed != 0) launch.observation = &observation;
    run_grid(launch);
    return run.release();
}

const paged_interpret::Report* paged_run_report(const Run* run) { return &run->report; }

// Moves text that the kernel printed to the buffer; 0 when there is no more.
size_t paged_take_text(Run* run, char* buffer, size_t capacity) {
    return run->output.take(buffer, capacity);
}

void paged_end_run(Run* run) { delete run; }
}
#pragma GCC visibility pop
