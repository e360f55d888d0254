// Shuffles, votes, matches and reductions of a warp, and barriers.
//
// A shuffle from a lane outside of the mask gives all-ones bytes. Lanes are grouped by width: a
// lane reads within its own segment, and out of it gets its own value back, as in CUDA.
#pragma once

#include "collective.h"

namespace paged_interpret {

// Source is a function (lane, first lane of its segment, last lane) -> lane to read.
template <class T, class Source>
inline T shuffle(unsigned mask, T value, int width, Source source, Site site) {
    const unsigned segment_mask = static_cast<unsigned>(width) - 1;
    if (width <= 0 || width > static_cast<int>(kWarpSize) || (segment_mask & width) != 0) {
        fail_at("the width of a shuffle must be a power of two up to 32", site);
    }
    struct Offer {
        T value;
        unsigned source;
    };
    const unsigned lane = lane_index();
    const unsigned first = lane & ~segment_mask;
    const Offer offer{value, source(lane, first, first | segment_mask)};
    const auto hand_out = [](const Offer(&offers)[kWarpSize], T(&values)[kWarpSize],
                             unsigned lanes) {
        for (; lanes != 0; lanes &= lanes - 1) {
            const int to = __builtin_ctz(lanes);
            values[to] = offers[offers[to].source].value;
        }
    };
    return warp_collective<Offer, T>(mask, offer, hand_out, site);
}

// Gives every lane of the mask the same result of all their values.
template <class T, class Result, class Fold>
inline Result warp_fold(unsigned mask, T value, Fold fold, Site site) {
    const auto hand_out = [fold](const T(&values)[kWarpSize], Result(&results)[kWarpSize],
                                 unsigned lanes) {
        const Result result = fold(values, lanes);
        for (; lanes != 0; lanes &= lanes - 1) results[__builtin_ctz(lanes)] = result;
    };
    return warp_collective<T, Result>(mask, value, hand_out, site);
}

// Folds the values of the mask in lane order by a function of two.
template <class T, class Two>
inline T warp_reduce(unsigned mask, T value, Two two, Site site) {
    const auto fold = [two](const T(&values)[kWarpSize], unsigned lanes) {
        T total = values[__builtin_ctz(lanes)];
        for (lanes &= lanes - 1; lanes != 0; lanes &= lanes - 1) {
            total = two(total, values[__builtin_ctz(lanes)]);
        }
        return total;
    };
    return warp_fold<T, T>(mask, value, fold, site);
}

// Bit l of the result: the predicate of lane l, 0 for lanes outside of the mask.
inline unsigned ballot(unsigned mask, int predicate, Site site) {
    const auto fold = [](const int(&predicates)[kWarpSize], unsigned lanes) {
        unsigned votes = 0;
        for (; lanes != 0; lanes &= lanes - 1) {
            const int lane = __builtin_ctz(lanes);
            votes |= static_cast<unsigned>(predicates[lane] != 0) << lane;
        }
        return votes;
    };
    return warp_fold<int, unsigned>(mask, predicate, fold, site);
}

template <class T>
inline unsigned match_any(unsigned mask, T value, Site site) {
    const auto compare = [](const T(&values)[kWarpSize], unsigned(&equal)[kWarpSize],
                            unsigned lanes) {
        for (unsigned left = lanes; left != 0; left &= left - 1) {
            const int lane = __builtin_ctz(left);
            equal[lane] = 0;
            for (unsigned others = lanes; others != 0; others &= others - 1) {
                const int other = __builtin_ctz(others);
                const bool is_equal = __builtin_memcmp(&values[lane], &values[other], sizeof(T)) == 0;
                equal[lane] |= static_cast<unsigned>(is_equal) << other;
            }
        }
    };
    return warp_collective<T, unsigned>(mask, value, compare, site);
}

// Lanes of the mask that the block has.
inline unsigned present_lanes(unsigned mask) {
    const unsigned left = num_block_threads() - current_lane->warp_index * kWarpSize;
    return left >= kWarpSize ? mask : mask & ((1u << left) - 1);
}

}  // namespace paged_interpret

#define PAGED_SITE ::paged_interpret::Site site = ::paged_interpret::Site::here()

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source_lane, int width = 32, PAGED_SITE) {
    const auto source = [source_lane](unsigned, unsigned first, unsigned last) {
        return first | (static_cast<unsigned>(source_lane) & (last - first));
    };
    return paged_interpret::shuffle(mask, value, width, source, site);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, PAGED_SITE) {
    const auto source = [delta](unsigned lane, unsigned first, unsigned) {
        return lane - first >= delta ? lane - delta : lane;
    };
    return paged_interpret::shuffle(mask, value, width, source, site);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, PAGED_SITE) {
    const auto source = [delta](unsigned lane, unsigned, unsigned last) {
        return last - lane >= delta ? lane + delta : lane;
    };
    return paged_interpret::shuffle(mask, value, width, source, site);
}

// Reaches lower segments too, but no higher one: PTX clamps at the end of the own segment only.
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, PAGED_SITE) {
    const auto source = [lane_mask](unsigned lane, unsigned, unsigned last) {
        const unsigned other = lane ^ (static_cast<unsigned>(lane_mask) & 31);
        return other <= last ? other : lane;
    };
    return paged_interpret::shuffle(mask, value, width, source, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, PAGED_SITE) {
    return paged_interpret::ballot(mask, predicate, site);
}
inline int __any_sync(unsigned mask, int predicate, PAGED_SITE) {
    return paged_interpret::ballot(mask, predicate, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, PAGED_SITE) {
    const unsigned votes = paged_interpret::ballot(mask, predicate, site);
    return votes == paged_interpret::present_lanes(mask);
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, PAGED_SITE) {
    return paged_interpret::match_any(mask, value, site);
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* is_match, PAGED_SITE) {
    const unsigned equal = paged_interpret::match_any(mask, value, site);
    mask = paged_interpret::present_lanes(mask);
    *is_match = equal == mask;
    return equal == mask ? mask : 0;
}

template <class T>
inline T __reduce_add_sync(unsigned mask, T value, PAGED_SITE) {
    return paged_interpret::warp_reduce(mask, value, [](T a, T b) { return T(a + b); }, site);
}
template <class T>
inline T __reduce_min_sync(unsigned mask, T value, PAGED_SITE) {
    return paged_interpret::warp_reduce(mask, value, [](T a, T b) { return b < a ? b : a; }, site);
}
template <class T>
inline T __reduce_max_sync(unsigned mask, T value, PAGED_SITE) {
    return paged_interpret::warp_reduce(mask, value, [](T a, T b) { return a < b ? b : a; }, site);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, PAGED_SITE) {
    const auto two = [](unsigned a, unsigned b) { return a & b; };
    return paged_interpret::warp_reduce(mask, value, two, site);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, PAGED_SITE) {
    const auto two = [](unsigned a, unsigned b) { return a | b; };
    return paged_interpret::warp_reduce(mask, value, two, site);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, PAGED_SITE) {
    const auto two = [](unsigned a, unsigned b) { return a ^ b; };
    return paged_interpret::warp_reduce(mask, value, two, site);
}

inline unsigned __activemask(PAGED_SITE) { return paged_interpret::active_mask(site); }
inline void __syncwarp(unsigned mask = 0xffffffffu, PAGED_SITE) {
    paged_interpret::sync_warp(mask, site);
}

inline void __syncthreads(PAGED_SITE) { paged_interpret::sync_block(0, site); }
inline int __syncthreads_count(int predicate, PAGED_SITE) {
    return paged_interpret::sync_block(predicate, site);
}
inline int __syncthreads_or(int predicate, PAGED_SITE) {
    return paged_interpret::sync_block(predicate, site) != 0;
}
inline int __syncthreads_and(int predicate, PAGED_SITE) {
    const int num_true = paged_interpret::sync_block(predicate, site);
    return num_true == static_cast<int>(paged_interpret::num_block_threads());
}
