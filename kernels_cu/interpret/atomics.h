// CUDA's atomic functions. They are atomic between OS threads, and sequentially consistent.
//
// Waiting loops are made of them, so each lets other lanes run now and then. Forms for a block and
// for the whole system are the same function.
#pragma once

#include "collective.h"
#include "numerics/atomic_update.h"

namespace paged_interpret {

// The type as given: keeps a parameter out of template deduction, so that it converts.
template <class T>
struct Given {
    using type = T;
};

template <class T, class Change>
inline T atomic_change(T* address, Change change) {
    yield_sometimes();
    return atomic_update(address, change);
}

}  // namespace paged_interpret

#define PAGED_ATOMIC(name, expression)                                                         \
    template <class T>                                                                         \
    inline T name(T* address, typename ::paged_interpret::Given<T>::type value) {              \
        return ::paged_interpret::atomic_change(                                               \
            address, [value](T old) -> T { return static_cast<T>(expression); });              \
    }                                                                                          \
    template <class T>                                                                         \
    inline T name##_block(T* address, typename ::paged_interpret::Given<T>::type value) {      \
        return name(address, value);                                                           \
    }                                                                                          \
    template <class T>                                                                         \
    inline T name##_system(T* address, typename ::paged_interpret::Given<T>::type value) {     \
        return name(address, value);                                                           \
    }

PAGED_ATOMIC(atomicAdd, old + value)
PAGED_ATOMIC(atomicSub, old - value)
PAGED_ATOMIC(atomicExch, (void(old), value))
PAGED_ATOMIC(atomicMin, value < old ? value : old)
PAGED_ATOMIC(atomicMax, old < value ? value : old)
PAGED_ATOMIC(atomicAnd, old & value)
PAGED_ATOMIC(atomicOr, old | value)
PAGED_ATOMIC(atomicXor, old ^ value)
PAGED_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
PAGED_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)

#undef PAGED_ATOMIC

// Each component by itself, as on a device.
#define PAGED_VECTOR_ADD(function)                                                                \
    inline float2 function(float2* address, float2 value) {                                       \
        return {function(&address->x, value.x), function(&address->y, value.y)};                  \
    }                                                                                             \
    inline float4 function(float4* address, float4 value) {                                       \
        return {function(&address->x, value.x), function(&address->y, value.y),                   \
                function(&address->z, value.z), function(&address->w, value.w)};                  \
    }

PAGED_VECTOR_ADD(atomicAdd)
PAGED_VECTOR_ADD(atomicAdd_block)
PAGED_VECTOR_ADD(atomicAdd_system)

#undef PAGED_VECTOR_ADD

template <class T>
inline T atomicCAS(T* address, typename paged_interpret::Given<T>::type compare,
                   typename paged_interpret::Given<T>::type value) {
    return paged_interpret::atomic_change(
        address, [compare, value](T old) -> T { return old == compare ? value : old; });
}
template <class T>
inline T atomicCAS_block(T* address, typename paged_interpret::Given<T>::type compare,
                         typename paged_interpret::Given<T>::type value) {
    return atomicCAS(address, compare, value);
}
template <class T>
inline T atomicCAS_system(T* address, typename paged_interpret::Given<T>::type compare,
                          typename paged_interpret::Given<T>::type value) {
    return atomicCAS(address, compare, value);
}

// Orders memory, which the builtins above already do on x86-64 but for a store before a load.
inline void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    paged_interpret::yield_sometimes();
}
inline void __threadfence_block() {
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    paged_interpret::yield_sometimes();
}
inline void __threadfence_system() { __threadfence(); }
