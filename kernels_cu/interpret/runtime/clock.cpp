// The global timer, the clock of deadlines, and that of an OS thread's processor time.
#include <ctime>

#include "../device.h"
#include "launch.h"

namespace paged_interpret {

static uint64_t read_clock_ns(clockid_t clock) {
    constexpr uint64_t kPerSecond = 1'000'000'000;
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * kPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t monotonic_ns() { return read_clock_ns(CLOCK_MONOTONIC); }

uint64_t thread_ns() { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

unsigned long long num_nanoseconds() {
    const uint64_t now_ns = read_clock_ns(CLOCK_REALTIME);
    yield_sometimes();
    return now_ns;
}

}  // namespace paged_interpret
