// What g++ calls in a kernel compiled with -fsanitize=thread: our own functions of these names, which
// no library of the sanitizer comes with. Only what a kernel can make it emit is here.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../observed_copies.h"
#include "observation.h"
#include "sanitizer.h"

namespace paged_interpret {

namespace {

inline void tell(const void* address, size_t num_bytes, bool is_read, bool is_write,
                 const void* place, bool is_atomic = false) {
    if (is_on_this_stack(address)) return;
    const auto number = reinterpret_cast<uint64_t>(address);
    if (current_sanitizer != nullptr) {
        current_sanitizer->see(
            MemoryAccess{number, num_bytes, is_read, is_write, place, is_atomic});
        return;
    }
    if (number - observed_range.begin >= observed_range.num_bytes) return;
    current_observer->see(MemoryAccess{number, num_bytes, is_read, is_write, place});
}

// Not inlined, so that most accesses need no room on the stack.
__attribute__((noinline)) void tell_slowly(const void* address, size_t num_bytes, bool is_write,
                                           const void* place) {
    tell(address, num_bytes, !is_write, is_write, place);
}

// Most accesses are to the lane's own memory.
__attribute__((always_inline)) inline void tell_read(const void* address, size_t num_bytes,
                                                     const void* place) {
    if (is_on_this_stack(address)) return;
    Sanitizer* sanitizer = current_sanitizer;
    if (sanitizer == nullptr) return tell_slowly(address, num_bytes, false, place);
    sanitizer->see_read(reinterpret_cast<uint64_t>(address), num_bytes, place);
}

__attribute__((always_inline)) inline void tell_write(const void* address, size_t num_bytes,
                                                      const void* place) {
    if (is_on_this_stack(address)) return;
    Sanitizer* sanitizer = current_sanitizer;
    if (sanitizer == nullptr) return tell_slowly(address, num_bytes, true, place);
    sanitizer->see_write(reinterpret_cast<uint64_t>(address), num_bytes, place);
}

void tell_range(const void* address, size_t num_bytes, bool is_write, const void* place) {
    const bool has_whole_words =
        (reinterpret_cast<uint64_t>(address) | num_bytes) % Shadow::kWordBytes == 0;
    if (!has_whole_words) return tell_slowly(address, num_bytes, is_write, place);
    if (is_write) return tell_write(address, num_bytes, place);
    tell_read(address, num_bytes, place);
}

// The runtime calls into a kernel's library outside of lanes too.
inline bool is_observed_lane() { return current_observer != nullptr && current_lane != nullptr; }

// An order of C++ and more than relaxed fences what surrounds the operation.
inline void fence(int order) {
    if (current_sanitizer == nullptr || order == __ATOMIC_RELAXED) return;
    current_sanitizer->fence(order == __ATOMIC_SEQ_CST);
}

inline void tell_atomic(const void* address, size_t num_bytes, bool is_read, bool is_write,
                        int order, const void* place) {
    fence(order);
    tell(address, num_bytes, is_read, is_write, place, true);
    fence(order);
}

}  // namespace

void* observed_memcpy(void* to, const void* from, size_t num_bytes) {
    const void* place = __builtin_return_address(0);
    tell(from, num_bytes, true, false, place);
    // A site of its own: an address within the call.
    tell(to, num_bytes, false, true, static_cast<const char*>(place) - 1);
    return std::memmove(to, from, num_bytes);
}

void* observed_memset(void* to, int byte, size_t num_bytes) {
    tell(to, num_bytes, false, true, __builtin_return_address(0));
    return std::memset(to, byte, num_bytes);
}

}  // namespace paged_interpret

using paged_interpret::is_observed_lane;
using paged_interpret::tell;
using paged_interpret::tell_atomic;
using paged_interpret::tell_range;
using paged_interpret::tell_read;
using paged_interpret::tell_write;

#define PAGED_HERE __builtin_return_address(0)

// Plain accesses: 1, 2, 4, 8 and 16 bytes, aligned. Volatile ones are told as atomic, which they are
// as far as races go.
#define PAGED_BYTES(bytes)                                                                        \
    void __tsan_read##bytes(void* address) { tell_read(address, bytes, PAGED_HERE); }             \
    void __tsan_write##bytes(void* address) { tell_write(address, bytes, PAGED_HERE); }           \
    void __tsan_volatile_read##bytes(void* address) {                                             \
        tell(address, bytes, true, false, PAGED_HERE, true);                                      \
    }                                                                                             \
    void __tsan_volatile_write##bytes(void* address) {                                            \
        tell(address, bytes, false, true, PAGED_HERE, true);                                      \
    }

#define PAGED_ATOMIC_WORD(bits)                                                                   \
    uint##bits##_t __tsan_atomic##bits##_load(const uint##bits##_t* address, int order) {         \
        tell_atomic(address, sizeof *address, true, false, order, PAGED_HERE);                    \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                        \
    }                                                                                             \
    void __tsan_atomic##bits##_store(uint##bits##_t* address, uint##bits##_t value, int order) {  \
        tell_atomic(address, sizeof *address, false, true, order, PAGED_HERE);                    \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                       \
    }                                                                                             \
    int __tsan_atomic##bits##_compare_exchange_weak(uint##bits##_t* address,                      \
                                                    uint##bits##_t* expected,                     \
                                                    uint##bits##_t desired, int order, int) {     \
        const bool is_done = __atomic_compare_exchange_n(address, expected, desired, false,       \
                                                         __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
        if (is_done) tell_atomic(address, sizeof *address, true, true, order, PAGED_HERE);        \
        return is_done;                                                                           \
    }

#pragma GCC visibility push(default)
extern "C" {

void __tsan_init() {}

PAGED_BYTES(1)
PAGED_BYTES(2)
PAGED_BYTES(4)
PAGED_BYTES(8)
PAGED_BYTES(16)

// Structs of other sizes, and accesses of less alignment than their size.
void __tsan_read_range(void* address, size_t num_bytes) {
    tell_range(address, num_bytes, false, PAGED_HERE);
}
void __tsan_write_range(void* address, size_t num_bytes) {
    tell_range(address, num_bytes, true, PAGED_HERE);
}

void __tsan_vptr_update(void** address, void*) {
    tell(address, sizeof *address, false, true, PAGED_HERE);
}

PAGED_ATOMIC_WORD(8)
PAGED_ATOMIC_WORD(16)
PAGED_ATOMIC_WORD(32)
PAGED_ATOMIC_WORD(64)

void __tsan_atomic_thread_fence(int order) {
    paged_interpret::fence(order);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// The calls that lead to a place: one function serves several callers where it is not inlined.
void __tsan_func_entry(void* caller) {
    if (is_observed_lane()) paged_interpret::current_block->self().path.enter(caller);
}
void __tsan_func_exit() {
    if (is_observed_lane()) paged_interpret::current_block->self().path.leave();
}
}
#pragma GCC visibility pop
