// Loads and stores with a cache hint. Hints mean nothing here; alignment is checked. Loads past the
// first cache are what loops wait with for other blocks: they read anew each time, and give way.
#pragma once

#include "../collective.h"
#include "alignment.h"

#define PAGED_LOAD(name, before)                                                                  \
    template <class T>                                                                            \
    inline T name(const T* address,                                                               \
                  paged_interpret::Site site = paged_interpret::Site::here()) {                   \
        paged_interpret::require_aligned(address, alignof(T), #name " of a misaligned address",   \
                                         site);                                                   \
        before;                                                                                   \
        return *address;                                                                          \
    }

PAGED_LOAD(__ldg, )
PAGED_LOAD(__ldca, )
PAGED_LOAD(__ldcs, )
PAGED_LOAD(__ldlu, )
PAGED_LOAD(__ldcg, paged_interpret::yield_sometimes())
PAGED_LOAD(__ldcv, paged_interpret::yield_sometimes())
#undef PAGED_LOAD

#define PAGED_STORE(name)                                                                         \
    template <class T, class Value>                                                               \
    inline void name(T* address, Value value,                                                     \
                     paged_interpret::Site site = paged_interpret::Site::here()) {                \
        paged_interpret::require_aligned(address, alignof(T), #name " to a misaligned address",   \
                                         site);                                                   \
        *address = value;                                                                         \
    }

PAGED_STORE(__stwb)
PAGED_STORE(__stcg)
PAGED_STORE(__stcs)
PAGED_STORE(__stwt)
#undef PAGED_STORE
