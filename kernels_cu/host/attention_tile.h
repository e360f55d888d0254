// What a row of attention does with keys and values that are floats, in rows of whole vectors.
//
// A score is one key's and one row's alone, and values are added key by key: neither depends on
// which other keys and rows are computed beside it.
#pragma once
#include <algorithm>
#include <limits>
#include <utility>

#include "vec_math.h"

namespace paged_host {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Parts of kPart lanes: the even ones of a, then of b within each pair, plus the odd ones likewise.
template <int kPart, int... kLane>
PAGED_INLINE Vec add_halves(Vec a, Vec b, std::integer_sequence<int, kLane...>) {
    constexpr auto from = [](int lane) {
        const int pair = lane / (2 * kPart), within = lane % (2 * kPart);
        return (within < kPart ? 0 : kLanes) + pair * 2 * kPart + within % kPart;
    };
    const Vec even = __builtin_shufflevector(a, b, from(kLane)...);
    const Vec odd = __builtin_shufflevector(a, b, (from(kLane) + kPart)...);
    return even + odd;
}

// Lane i of the result is the sum of the lanes of sums[i].
template <int kCount = kLanes>
PAGED_INLINE Vec sum_each(const Vec* sums) {
    if constexpr (kCount == 1) {
        return sums[0];
    } else {
        const Vec first = sum_each<kCount / 2>(sums);
        const Vec second = sum_each<kCount / 2>(sums + kCount / 2);
        return add_halves<kCount / 2>(first, second, std::make_integer_sequence<int, kLanes>());
    }
}

// Products of a query [width] with kLanes keys. One chain for each key from element 0 up.
inline Vec dot_keys(const float* query, const float* const* keys, int64_t width) {
    Vec sums[kLanes]{};
    for (int64_t i = 0; i < width; i += kLanes) {
        const Vec value = load<Vec>(query + i);
#pragma GCC unroll 16
        for (int key = 0; key < kLanes; ++key) {
            sums[key] = fma(value, load<Vec>(keys[key] + i), sums[key]);
        }
    }
    return sum_each(sums);
}

// sum [kVectors vectors] += weights[key] * values[key], key by key.
template <int kVectors>
void add_values_of(const float* weights, const float* const* values, int64_t num_keys,
                   int64_t offset, float* sum) {
    Vec total[kVectors];
    for (int i = 0; i < kVectors; ++i) total[i] = load<Vec>(sum + offset + i * kLanes);
    for (int64_t key = 0; key < num_keys; ++key) {
        const Vec weight = broadcast(weights[key]);
        const float* value = values[key] + offset;
#pragma GCC unroll 8
        for (int i = 0; i < kVectors; ++i) {
            total[i] = fma(weight, load<Vec>(value + i * kLanes), total[i]);
        }
    }
    for (int i = 0; i < kVectors; ++i) store(sum + offset + i * kLanes, total[i]);
}

inline void add_values(const float* weights, const float* const* values, int64_t num_keys,
                       int64_t width, float* sum) {
    constexpr int kMost = 8;
    int64_t offset = 0;
    for (; offset + kMost * kLanes <= width; offset += kMost * kLanes) {
        add_values_of<kMost>(weights, values, num_keys, offset, sum);
    }
    for (; offset + 4 * kLanes <= width; offset += 4 * kLanes) {
        add_values_of<4>(weights, values, num_keys, offset, sum);
    }
    for (; offset < width; offset += kLanes) {
        add_values_of<1>(weights, values, num_keys, offset, sum);
    }
}

// tanh to a few units in the last place of 1.
PAGED_INLINE Vec tanh(Vec x) { return 1.0f - 2.0f / (exp(x + x) + 1.0f); }

PAGED_INLINE Vec max(Vec a, Vec b) { return a > b ? a : b; }

// How the row at a position scores keys.
struct Scoring {
    float scale;
    float softcap;  // 0: none
    float slope;    // of ALiBi
    int64_t position;
    // The keys it sees.
    int64_t begin, end;
};

// Turns products [num_keys] with the keys from first_key on into scores, minus infinity where the
// row does not see the key, and returns the largest.
inline float score(const Scoring& row, int64_t first_key, int64_t num_keys, float* products) {
    IntVec lane;
    for (int i = 0; i < kLanes; ++i) lane[i] = i;
    Vec largest = broadcast(kMinusInfinity);
    for (int64_t i = 0; i < num_keys; i += kLanes) {
        Vec value = load<Vec>(products + i) * row.scale;
        if (row.softcap > 0.0f) value = row.softcap * tanh(value / row.softcap);
        const IntVec ahead = lane + static_cast<int32_t>(first_key + i - row.position);
        if (row.slope != 0.0f) value += row.slope * __builtin_convertvector(ahead, Vec);
        const auto begin = static_cast<int32_t>(row.begin - row.position);
        const auto end = static_cast<int32_t>(row.end - row.position);
        value = (ahead >= begin) & (ahead < end) ? value : broadcast(kMinusInfinity);
        store(products + i, value);
        largest = max(value, largest);
    }
    float most = kMinusInfinity;
    for (int i = 0; i < kLanes; ++i) most = largest[i] > most ? largest[i] : most;
    return most;
}

// Turns scores [num_keys] into weights e^(score - largest) and returns their sum.
inline float weigh(float largest, int64_t num_keys, float* scores) {
    Vec sum{};
    for (int64_t i = 0; i < num_keys; i += kLanes) {
        const Vec weight = exp(load<Vec>(scores + i) - largest);
        store(scores + i, weight);
        sum += weight;
    }
    return sum_lanes(sum);
}

// A row's softmax over some keys: the values are weighed relative to the largest score.
struct Partial {
    float largest;
    float sum;
    float* values;  // [width]
};

// total becomes total and next together.
inline void fold(Partial& total, const Partial& next, int64_t width) {
    if (next.largest == kMinusInfinity) return;
    if (total.largest == kMinusInfinity) {
        total.largest = next.largest;
        total.sum = next.sum;
        std::copy(next.values, next.values + width, total.values);
        return;
    }
    const float largest = next.largest > total.largest ? next.largest : total.largest;
    const float keep = exp(broadcast(total.largest - largest))[0];
    const float add = exp(broadcast(next.largest - largest))[0];
    total.largest = largest;
    total.sum = total.sum * keep + next.sum * add;
    for (int64_t i = 0; i < width; i += kLanes) {
        const Vec kept = load<Vec>(total.values + i) * keep;
        store(total.values + i, fma(load<Vec>(next.values + i), broadcast(add), kept));
    }
}

}  // namespace paged_host
