// What device code calls besides warps, barriers and atomics: printf, assert, trap, clocks.
#pragma once

#include "collective.h"

namespace paged_interpret {

#pragma GCC visibility push(default)
int print(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void fail_assertion(const char* condition, const char* function, Site site);
unsigned long long num_nanoseconds();
#pragma GCC visibility pop

}  // namespace paged_interpret

[[noreturn]] inline void __trap(::paged_interpret::Site site = ::paged_interpret::Site::here()) {
    paged_interpret::fail_at("__trap() was called", site);
}
inline void __brkpt() {}

inline long long clock64() {
    paged_interpret::yield_sometimes();
    return static_cast<long long>(__builtin_ia32_rdtsc());
}
inline unsigned long long __globaltimer() { return paged_interpret::num_nanoseconds(); }
inline void __nanosleep(unsigned) { paged_interpret::yield_lane(); }

// Spaces of memory are one here; what is shared is not told from what is global.
inline void __prefetch_global_l1(const void*) {}
inline void __prefetch_global_l2(const void*) {}
