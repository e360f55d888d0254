// Scans over groups of lanes, in the order of ranks.
#pragma once

#include "reduce.h"

namespace cooperative_groups {

// Of lane r, the values of ranks 0 .. r combined.
template <class Group, class T, class Operation = plus<T>>
inline T inclusive_scan(const Group& group, T value, Operation operation = {},
                        Site site = Site::here()) {
    const auto run = [operation](T* values, unsigned count, T* results) {
        results[0] = values[0];
        for (unsigned rank = 1; rank < count; ++rank) {
            results[rank] = operation(results[rank - 1], values[rank]);
        }
    };
    return group.combine_ranks(value, run, site);
}

// Of lane r, the values of ranks 0 .. r - 1 combined; zero in the first.
template <class Group, class T, class Operation = plus<T>>
inline T exclusive_scan(const Group& group, T value, Operation operation = {},
                        Site site = Site::here()) {
    const auto run = [operation](T* values, unsigned count, T* results) {
        results[0] = T{};
        for (unsigned rank = 1; rank < count; ++rank) {
            results[rank] = rank == 1 ? values[0] : operation(results[rank - 1], values[rank - 1]);
        }
    };
    return group.combine_ranks(value, run, site);
}

}  // namespace cooperative_groups
