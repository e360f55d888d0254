// The global timer.
#include <ctime>

#include "../device.h"

namespace paged_interpret {

unsigned long long num_nanoseconds() {
    constexpr unsigned long long kPerSecond = 1'000'000'000;
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    yield_sometimes();
    return static_cast<unsigned long long>(now.tv_sec) * kPerSecond +
           static_cast<unsigned long long>(now.tv_nsec);
}

}  // namespace paged_interpret
