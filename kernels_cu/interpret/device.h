// What device code calls besides warps, barriers and atomics: printf, assert, trap, clocks.
#pragma once

#include "collective.h"

namespace paged_interpret {

#pragma GCC visibility push(default)
int print(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void fail_assertion(const char* condition, const char* function, Site site);
unsigned long long num_nanoseconds();
// Whether an address lies in the block's shared memory, or in the calling lane's own.
bool is_shared(const void* address);
bool is_local(const void* address);
#pragma GCC visibility pop

}  // namespace paged_interpret

[[noreturn]] inline void __trap(::paged_interpret::Site site = ::paged_interpret::Site::here()) {
    paged_interpret::fail_at("__trap() was called", site);
}
inline void __brkpt() {}
inline void __prof_trigger(int) {}

inline long long clock64() {
    paged_interpret::yield_sometimes();
    return static_cast<long long>(__builtin_ia32_rdtsc());
}
inline unsigned long long __globaltimer() { return paged_interpret::num_nanoseconds(); }
inline void __nanosleep(unsigned) { paged_interpret::yield_lane(); }

// Spaces of memory: an address is its own number in each, and constants count as global.
inline unsigned __isShared(const void* address) { return paged_interpret::is_shared(address); }
inline unsigned __isLocal(const void* address) { return paged_interpret::is_local(address); }
inline unsigned __isGlobal(const void* address) {
    return !paged_interpret::is_shared(address) && !paged_interpret::is_local(address);
}

#define PAGED_SPACE(name)                                                                         \
    inline unsigned long __cvta_generic_to_##name(const void* address) {                          \
        return reinterpret_cast<unsigned long>(address);                                          \
    }                                                                                             \
    inline void* __cvta_##name##_to_generic(unsigned long address) {                              \
        return reinterpret_cast<void*>(address);                                                  \
    }

PAGED_SPACE(global)
PAGED_SPACE(shared)
PAGED_SPACE(local)
PAGED_SPACE(constant)
#undef PAGED_SPACE

inline void __prefetch_global_l1(const void*) {}
inline void __prefetch_global_l2(const void*) {}
