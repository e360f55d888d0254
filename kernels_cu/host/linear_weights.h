// What a packed weight is made of, and how x is multiplied by it.
//
// A tile is kTile outputs of the weight, side by side for each input: [in_features][kTile]. In
// bfloat16 the outputs i and i + kLanes share 32 bits, so that a shift and a mask make them floats.
// In int8 the inputs 2i and 2i + 1 of an output lie side by side, for an instruction that multiplies
// pairs, and inputs are even in number: [in_features / 2][kTile][2].
#pragma once
#include "host_records.h"
#include "vec.h"

namespace paged_host {

constexpr int kTile = 2 * kLanes;

// Weights that floats are multiplied by: sums are chains of fused multiply-adds.
struct FloatWeights {
    using Input = float;
    using Sum = Vec;
    static constexpr int kInputsAtOnce = 1;
    static PAGED_INLINE Sum begin(const float* sums) { return load<Vec>(sums); }
    static PAGED_INLINE Vec spread(const Input* x) { return broadcast(*x); }
    static PAGED_INLINE void add(Vec x, Vec weights, Sum& sum) { sum = fma(x, weights, sum); }
    static PAGED_INLINE void end(Sum sum, const float*, float* sums) { store(sums, sum); }
};

struct Bfloat16Weights : FloatWeights {
    using Element = uint16_t;
    static PAGED_INLINE void load_pair(const Element* from, Vec& first, Vec& second) {
        const auto pairs = load<UintVec>(from);
        first = lower_bfloat16(pairs);
        second = upper_bfloat16(pairs);
    }
    // Where an input's weight for an output lies in a tile.
    static int64_t place(int64_t input, int output) {
        return input * kTile + (output < kLanes ? 2 * output : 2 * (output - kLanes) + 1);
    }
    static float value(Element element) { return from_bfloat16(element); }
};

struct Float32Weights : FloatWeights {
    using Element = float;
    static PAGED_INLINE void load_pair(const Element* from, Vec& first, Vec& second) {
        first = load<Vec>(from);
        second = load<Vec>(from + kLanes);
    }
    static int64_t place(int64_t input, int output) { return input * kTile + output; }
    static float value(Element element) { return element; }
};

// x are integers of 16 bits: sums are exact within a panel, whose scale then makes them floats.
struct Int8Weights {
    using Element = int8_t;
    using Input = int16_t;
    using Sum = IntVec;
    static constexpr int kInputsAtOnce = 2;
    static_assert(kPanelInputs <= INT32_MAX / (INT16_MAX + 1) / INT8_MAX, "a sum has 32 bits");
    static PAGED_INLINE void load_pair(const Element* from, IntVec& first, IntVec& second) {
        first = load_pairs(from);
        second = load_pairs(from + kTile);
    }
    static PAGED_INLINE Sum begin(const float*) { return Sum{}; }
    static PAGED_INLINE IntVec spread(const Input* x) { return load<int32_t>(x) - IntVec{}; }
    static PAGED_INLINE void add(IntVec x, IntVec weights, Sum& sum) {
        sum += dot_pairs(x, weights);
        hold(sum);
    }
    static PAGED_INLINE void end(Sum sum, const float* scale, float* sums) {
        const Vec value = __builtin_convertvector(sum, Vec);
        store(sums, fma(value, broadcast(*scale), load<Vec>(sums)));
    }
    static int64_t place(int64_t input, int output) {
        return input / 2 * 2 * kTile + 2 * output + input % 2;
    }
    static float value(Element element) { return static_cast<float>(element); }
};

// Inputs of a tile, with those that fill it up.
template <typename Weights>
constexpr int64_t padded_inputs(int64_t in_features) {
    constexpr int64_t kAtOnce = Weights::kInputsAtOnce;
    return (in_features + kAtOnce - 1) / kAtOnce * kAtOnce;
}

}  // namespace paged_host
