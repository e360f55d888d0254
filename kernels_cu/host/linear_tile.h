// A block of a product: up to kMaxRows rows of x by the outputs of one or a few tiles.
//
// Every sum is one chain from input 0 up, wherever it is computed: a row's result depends neither on
// how many rows there are nor on the blocking.
#pragma once
#include <utility>

#include "linear_weights.h"

namespace paged_host {

constexpr int kCacheLineBytes = 64;
// The sums fill the 16 or 32 registers, less the two vectors of weights and one value of x.
constexpr int kMaxRows = kLanes == 16 ? 12 : 6;

// Inputs of some rows: values lie a stride apart, and the scales of integers another.
template <typename Input>
struct Rows {
    const Input* values;
    int64_t stride;
    const float* scales;
    int64_t scale_stride;
};

// Weights that the L2 cache is asked for while others are multiplied, ahead of their use: they may
// lie past the end, for nothing is read.
struct Ahead {
    const char* first;
    // Bytes from what is asked for beside one unit of inputs to what is beside the next.
    int64_t step;
};

// The hardware fetches in time what is read in wide loads at the speed of memory. It does not where
// loads are narrow or computing lies between them: int8 took 1.2 times as long, 1.4 with two rows.
template <typename Weights, int kRows>
constexpr bool kAsksAhead = kRows > 1 || sizeof(typename Weights::Element) == 1;

// A unit: inputs whose weights of a tile fill cache lines, and their bytes.
template <typename Weights>
constexpr int kUnitInputs = [] {
    constexpr int kOfLine = kCacheLineBytes / (kTile * int{sizeof(typename Weights::Element)});
    return kOfLine < Weights::kInputsAtOnce ? Weights::kInputsAtOnce : kOfLine;
}();
template <typename Weights>
constexpr int kUnitBytes = kUnitInputs<Weights> * kTile * int{sizeof(typename Weights::Element)};

// Adds num_inputs products to sums [kRows][kTiles][kTile]. The tiles of the weights
// [kTiles][.][kTile] lie tile_stride apart.
template <typename Weights, int kRows, int kTiles>
void add_products(const Rows<typename Weights::Input>& x, const typename Weights::Element* weights,
                  int64_t tile_stride, int64_t num_inputs, float* sums, Ahead ahead) {
    static_assert(kRows * kTiles <= kMaxRows, "the sums must stay in registers");
    constexpr int kInputsAtOnce = Weights::kInputsAtOnce;
    using Sum = typename Weights::Sum;
    Sum total[kTiles][kRows][2];
#pragma GCC unroll 12
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma GCC unroll 12
        for (int row = 0; row < kRows; ++row) {
            const float* from = sums + (row * kTiles + tile) * kTile;
            total[tile][row][0] = Weights::begin(from);
            total[tile][row][1] = Weights::begin(from + kLanes);
        }
    }
    const auto add_inputs = [&](int64_t k) __attribute__((always_inline)) {
#pragma GCC unroll 12
        for (int tile = 0; tile < kTiles; ++tile) {
            Sum first, second;
            Weights::load_pair(weights + tile * tile_stride + k * kTile, first, second);
#pragma GCC unroll 12
            for (int row = 0; row < kRows; ++row) {
                const auto value = Weights::spread(x.values + row * x.stride + k);
                Weights::add(value, first, total[tile][row][0]);
                Weights::add(value, second, total[tile][row][1]);
            }
        }
    };
    int64_t k = 0;
    if constexpr (kAsksAhead<Weights, kRows>) {
        constexpr int kUnit = kUnitInputs<Weights>;
        for (; k + kUnit <= num_inputs; k += kUnit, ahead.first += ahead.step) {
#pragma GCC unroll 12
            for (int tile = 0; tile < kTiles; ++tile) {
                const char* lines = ahead.first + tile * tile_stride * int64_t{sizeof(*weights)};
                for (int at = 0; at < kUnitBytes<Weights>; at += kCacheLineBytes) {
                    __builtin_prefetch(lines + at, 0, 2);
                }
            }
#pragma GCC unroll 12
            for (int i = 0; i < kUnit; i += kInputsAtOnce) add_inputs(k + i);
        }
    }
    for (; k < num_inputs; k += kInputsAtOnce) add_inputs(k);
#pragma GCC unroll 12
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma GCC unroll 12
        for (int row = 0; row < kRows; ++row) {
            float* to = sums + (row * kTiles + tile) * kTile;
            const float* scale = x.scales + row * x.scale_stride;
            Weights::end(total[tile][row][0], scale, to);
            Weights::end(total[tile][row][1], scale, to + kLanes);
        }
    }
}

// Tiles taken at once for few rows: enough sums to hide the latency of an addition.
constexpr int tiles_at_once(int64_t num_rows) {
    return num_rows == 1 ? 4 : num_rows == 2 ? 2 : 1;
}

template <typename Weights>
using AddProducts = decltype(&add_products<Weights, 1, 1>);

// The instances of add_products for a number of tiles, by the number of rows less one.
template <typename Weights, int kTiles, int... kRow>
AddProducts<Weights> adder_of(int num_rows, std::integer_sequence<int, kRow...>) {
    constexpr AddProducts<Weights> kAdders[] = {add_products<Weights, kRow + 1, kTiles>...};
    return kAdders[num_rows - 1];
}

template <typename Weights>
AddProducts<Weights> adder(int num_rows, int num_tiles) {
    if (num_tiles == 4) return adder_of<Weights, 4>(num_rows, std::make_integer_sequence<int, 1>());
    if (num_tiles == 2) return adder_of<Weights, 2>(num_rows, std::make_integer_sequence<int, 2>());
    return adder_of<Weights, 1>(num_rows, std::make_integer_sequence<int, kMaxRows>());
}

}  // namespace paged_host
