// In which order lanes and warps take their turns.
#pragma once
#include "launch.h"

namespace paged_interpret {

inline void natural_order(unsigned* order, unsigned count) {
    for (unsigned i = 0; i < count; ++i) order[i] = i;
}

inline void shuffle(unsigned* order, unsigned count, uint64_t seed) {
    natural_order(order, count);
    for (unsigned i = count; i > 1; --i) {
        const auto j = static_cast<unsigned>(mix(seed + i) % i);
        const unsigned kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

}  // namespace paged_interpret
