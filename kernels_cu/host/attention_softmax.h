// Softmax of a row of attention: scores of a tile of keys, their weights, and tiles put together.
#pragma once
#include <algorithm>

#include "attention_tile.h"

namespace paged_host {

// tanh to a few units in the last place of 1.
PAGED_INLINE Vec tanh(Vec x) { return 1.0f - 2.0f / (exp(x + x) + 1.0f); }

// How the row at a position scores keys.
struct Scoring {
    float scale;
    float softcap;  // 0: none
    float slope;    // of ALiBi
    int64_t position;
    // The keys it sees.
    int64_t begin, end;
};

inline float largest_lane(Vec value) {
    float most = kMinusInfinity;
    for (int i = 0; i < kLanes; ++i) most = value[i] > most ? value[i] : most;
    return most;
}

// The scores of keys that a row sees all of, where nothing but the scale makes them.
inline float score_plainly(float scale, int64_t num_keys, float* products) {
    Vec largest = broadcast(kMinusInfinity);
    for (int64_t i = 0; i < num_keys; i += kLanes) {
        const Vec value = load<Vec>(products + i) * scale;
        store(products + i, value);
        largest = max(value, largest);
    }
    return largest_lane(largest);
}

// Turns products [num_keys] with the keys from first_key on into scores, minus infinity where the
// row does not see the key, and returns the largest.
inline float score(const Scoring& row, int64_t first_key, int64_t num_keys, float* products) {
    const bool sees_all = row.begin <= first_key && first_key + num_keys <= row.end;
    if (sees_all && row.softcap == 0.0f && row.slope == 0.0f) {
        return score_plainly(row.scale, num_keys, products);
    }
    IntVec lane;
    for (int i = 0; i < kLanes; ++i) lane[i] = i;
    const auto begin = static_cast<int32_t>(row.begin - row.position);
    const auto end = static_cast<int32_t>(row.end - row.position);
    Vec largest = broadcast(kMinusInfinity);
    for (int64_t i = 0; i < num_keys; i += kLanes) {
        Vec value = load<Vec>(products + i) * row.scale;
        if (row.softcap > 0.0f) value = row.softcap * tanh(value / row.softcap);
        const IntVec ahead = lane + static_cast<int32_t>(first_key + i - row.position);
        if (row.slope != 0.0f) value += row.slope * __builtin_convertvector(ahead, Vec);
        value = (ahead >= begin) & (ahead < end) ? value : broadcast(kMinusInfinity);
        store(products + i, value);
        largest = max(value, largest);
    }
    return largest_lane(largest);
}

// Turns scores [num_keys] into weights e^(score - largest) and returns their sum.
inline float weigh(float largest, int64_t num_keys, float* scores) {
    Vec sum{};
    for (int64_t i = 0; i < num_keys; i += kLanes) {
        const Vec weight = exp_of_negative(load<Vec>(scores + i) - largest);
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
