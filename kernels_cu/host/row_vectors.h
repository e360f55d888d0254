// Rows of floats as pairs of vectors, in whatever order costs least to load.
//
// Products and sums over rows do not care where an element lies, as long as all rows agree. Rows of
// bfloat16 have their elements 2i and 2i + 1 at i of the first and of the second vector of a pair,
// so that a shift and a mask make them floats; those of other types lie as in memory.
#pragma once
#include <algorithm>
#include <type_traits>
#include <utility>

#include "elements.h"

namespace paged_host {

constexpr int kPair = 2 * kLanes;

// One of the two vectors of a pair.
template <typename Type, int kHalf>
PAGED_INLINE Vec load_half(const typename Type::Storage* pair) {
    if constexpr (std::is_same_v<Type, Bfloat16>) {
        const auto both = load<UintVec>(pair);
        return kHalf == 0 ? lower_bfloat16(both) : upper_bfloat16(both);
    } else {
        return Type::load(pair + kHalf * kLanes);
    }
}

// Where an element of a row lies among its vectors.
template <typename Type>
PAGED_INLINE int64_t place_of(int64_t element) {
    if constexpr (std::is_same_v<Type, Bfloat16>) {
        const int64_t within = element % kPair;
        return element - within + within % 2 * kLanes + within / 2;
    } else {
        return element;
    }
}

// The num elements of a row as vectors, padded with zeros to width, a multiple of kPair.
template <typename Type>
PAGED_INLINE void to_vectors(const typename Type::Storage* from, int64_t stride, int64_t num,
                             int64_t width, float* to) {
    int64_t i = 0;
    if (stride == 1) {
        for (; i + kPair <= num; i += kPair) {
            store(to + i, load_half<Type, 0>(from + i));
            store(to + i + kLanes, load_half<Type, 1>(from + i));
        }
    }
    std::fill(to + i, to + width, 0.0f);
    for (; i < num; ++i) to[place_of<Type>(i)] = Type::to_float(from[i * stride]);
}

// Every second element of two vectors, from the first or the second one on.
template <bool kIsSecond, int... kLane>
PAGED_INLINE Vec every_second(Vec a, Vec b, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(a, b, (2 * kLane + kIsSecond)...);
}

// Elements of two vectors in turn: the first or the last half of what that makes.
template <bool kIsLast, int... kLane>
PAGED_INLINE Vec in_turn(Vec a, Vec b, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(
        a, b, (kIsLast * kLanes / 2 + kLane / 2 + kLane % 2 * kLanes)...);
}

// Moves the floats of a row [width] from their order to where the elements of Type lie.
template <typename Type>
PAGED_INLINE void to_places(float* row, int64_t width) {
    if constexpr (std::is_same_v<Type, Bfloat16>) {
        constexpr auto kAll = std::make_integer_sequence<int, kLanes>();
        for (int64_t i = 0; i < width; i += kPair) {
            const Vec a = load<Vec>(row + i), b = load<Vec>(row + i + kLanes);
            store(row + i, every_second<false>(a, b, kAll));
            store(row + i + kLanes, every_second<true>(a, b, kAll));
        }
    }
}

// The same back.
template <typename Type>
PAGED_INLINE void from_places(float* row, int64_t width) {
    if constexpr (std::is_same_v<Type, Bfloat16>) {
        constexpr auto kAll = std::make_integer_sequence<int, kLanes>();
        for (int64_t i = 0; i < width; i += kPair) {
            const Vec a = load<Vec>(row + i), b = load<Vec>(row + i + kLanes);
            store(row + i, in_turn<false>(a, b, kAll));
            store(row + i + kLanes, in_turn<true>(a, b, kAll));
        }
    }
}

}  // namespace paged_host
