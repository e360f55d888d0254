// The global timer, and the clock of deadlines.
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

unsigned long long num_nanoseconds() {
    const uint64_t now_ns = read_clock_ns(CLOCK_REALTIME);
    yield_sometimes();
    return now_ns;
}

}  // namespace paged_interpret
