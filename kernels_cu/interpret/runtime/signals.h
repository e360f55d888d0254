// Faults in the child of an isolated launch, and the caller's request to stop.
#pragma once

namespace paged_interpret {

constexpr int kFailedStatus = 3;  // of a process whose report says why
constexpr int kShortOfMemoryStatus = 4;
constexpr int kStopSignal = 12;   // SIGUSR2

// Reports faults and requests to stop. Called once, by the process's first OS thread.
void watch_signals();
// Gives the calling OS thread a stack for signal handlers.
void watch_stack();

}  // namespace paged_interpret
