// CUDA's atomic functions with an order and a scope: __nv_atomic_load_n, __nv_atomic_fetch_add, ..
// Every order is the strongest here, and every scope the widest.
#pragma once

#include "atomics.h"

enum {
    __NV_ATOMIC_RELAXED,
    __NV_ATOMIC_CONSUME,
    __NV_ATOMIC_ACQUIRE,
    __NV_ATOMIC_RELEASE,
    __NV_ATOMIC_ACQ_REL,
    __NV_ATOMIC_SEQ_CST,
};

enum {
    __NV_THREAD_SCOPE_THREAD,
    __NV_THREAD_SCOPE_BLOCK,
    __NV_THREAD_SCOPE_CLUSTER,
    __NV_THREAD_SCOPE_DEVICE,
    __NV_THREAD_SCOPE_SYSTEM,
};

#define PAGED_SCOPE int = __NV_THREAD_SCOPE_SYSTEM

inline void __nv_atomic_thread_fence(int, PAGED_SCOPE) { __threadfence(); }

template <class T>
inline void __nv_atomic_load(const T* address, T* value, int, PAGED_SCOPE) {
    paged_interpret::yield_sometimes();
    __atomic_load(address, value, __ATOMIC_SEQ_CST);
}
template <class T>
inline T __nv_atomic_load_n(const T* address, int order, PAGED_SCOPE) {
    T value;
    __nv_atomic_load(address, &value, order);
    return value;
}

template <class T>
inline void __nv_atomic_store(T* address, T* value, int, PAGED_SCOPE) {
    paged_interpret::yield_sometimes();
    __atomic_store(address, value, __ATOMIC_SEQ_CST);
}
template <class T>
inline void __nv_atomic_store_n(T* address, typename paged_interpret::Given<T>::type value,
                                int order, PAGED_SCOPE) {
    __nv_atomic_store(address, &value, order);
}

template <class T>
inline T __nv_atomic_exchange_n(T* address, typename paged_interpret::Given<T>::type value, int,
                                PAGED_SCOPE) {
    return atomicExch(address, value);
}
template <class T>
inline void __nv_atomic_exchange(T* address, T* value, T* before, int, PAGED_SCOPE) {
    *before = atomicExch(address, *value);
}

template <class T>
inline bool __nv_atomic_compare_exchange(T* address, T* expected, T* desired, bool, int, int,
                                         PAGED_SCOPE) {
    const T before = atomicCAS(address, *expected, *desired);
    const bool is_done = __builtin_memcmp(&before, expected, sizeof(T)) == 0;
    *expected = before;
    return is_done;
}
template <class T>
inline bool __nv_atomic_compare_exchange_n(T* address, T* expected,
                                           typename paged_interpret::Given<T>::type desired,
                                           bool is_weak, int success, int failure, PAGED_SCOPE) {
    return __nv_atomic_compare_exchange(address, expected, &desired, is_weak, success, failure);
}

#define PAGED_FETCH(name, function)                                                               \
    template <class T>                                                                            \
    inline T __nv_atomic_fetch_##name(T* address,                                                 \
                                      typename paged_interpret::Given<T>::type value, int,        \
                                      PAGED_SCOPE) {                                              \
        return function(address, value);                                                          \
    }

PAGED_FETCH(add, atomicAdd)
PAGED_FETCH(sub, atomicSub)
PAGED_FETCH(and, atomicAnd)
PAGED_FETCH(or, atomicOr)
PAGED_FETCH(xor, atomicXor)
PAGED_FETCH(max, atomicMax)
PAGED_FETCH(min, atomicMin)

#undef PAGED_FETCH
#undef PAGED_SCOPE
