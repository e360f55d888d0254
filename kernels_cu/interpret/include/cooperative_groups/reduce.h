// Reductions over groups of lanes.
//
// The order of a sum is that of a butterfly of the farthest first: with n values, value i takes in
// value i + ceil(n / 2), and so on with the lower half.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

#define PAGED_FUNCTION_OBJECT(name, expression)                                                   \
    template <class T>                                                                            \
    struct name {                                                                                 \
        T operator()(T a, T b) const { return expression; }                                       \
    };

PAGED_FUNCTION_OBJECT(plus, a + b)
PAGED_FUNCTION_OBJECT(less, b < a ? b : a)
PAGED_FUNCTION_OBJECT(greater, a < b ? b : a)
PAGED_FUNCTION_OBJECT(bit_and, a& b)
PAGED_FUNCTION_OBJECT(bit_or, a | b)
PAGED_FUNCTION_OBJECT(bit_xor, a ^ b)
#undef PAGED_FUNCTION_OBJECT

// The reduced value, in every lane of the group.
template <class Group, class T, class Operation>
inline T reduce(const Group& group, T value, Operation operation, Site site = Site::here()) {
    const auto run = [operation](T* values, unsigned count, T* results) {
        const unsigned all = count;
        while (count > 1) {
            const unsigned half = (count + 1) / 2;
            for (unsigned rank = 0; rank + half < count; ++rank) {
                values[rank] = operation(values[rank], values[rank + half]);
            }
            count = half;
        }
        for (unsigned rank = 0; rank < all; ++rank) results[rank] = values[0];
    };
    return group.combine_ranks(value, run, site);
}

}  // namespace cooperative_groups
