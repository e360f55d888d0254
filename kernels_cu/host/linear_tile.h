// A block of a product: up to kMaxRows rows of x by the outputs of one or a few tiles.
//
// A tile is kTile outputs of the weight, side by side for each input: [in_features][kTile]. In
// bfloat16 the outputs i and i + kLanes share 32 bits, so that a shift and a mask make them floats.
// Every sum is one chain from input 0 up, wherever it is computed: a row's result depends neither on
// how many rows there are nor on the blocking.
#pragma once
#include <utility>

#include "vec.h"

namespace paged_host {

constexpr int kTile = 2 * kLanes;
constexpr int kCacheLineBytes = 64;
// The sums fill the 16 or 32 registers, less the two vectors of weights and one value of x.
constexpr int kMaxRows = kLanes == 16 ? 12 : 6;

struct Bfloat16Weights {
    using Element = uint16_t;
    static PAGED_INLINE void load_pair(const Element* from, Vec& first, Vec& second) {
        const auto pairs = load<UintVec>(from);
        first = lower_bfloat16(pairs);
        second = upper_bfloat16(pairs);
    }
    // Where an output lies among those of its tile.
    static int place(int output) {
        return output < kLanes ? 2 * output : 2 * (output - kLanes) + 1;
    }
    static float value(Element element) { return from_bfloat16(element); }
};

struct Float32Weights {
    using Element = float;
    static PAGED_INLINE void load_pair(const Element* from, Vec& first, Vec& second) {
        first = load<Vec>(from);
        second = load<Vec>(from + kLanes);
    }
    static int place(int output) { return output; }
    static float value(Element element) { return element; }
};

struct Int8Weights {
    using Element = int8_t;
    static PAGED_INLINE void load_pair(const Element* from, Vec& first, Vec& second) {
        first = from_int8(load<ByteVec>(from));
        second = from_int8(load<ByteVec>(from + kLanes));
    }
    static int place(int output) { return output; }
    static float value(Element element) { return static_cast<float>(element); }
};

// The hardware fetches in time what is read in wide loads at the speed of memory. It does not where
// loads are narrow or computing lies between them: int8 took 1.2 times as long, 1.4 with two rows.
template <typename Weights, int kRows>
constexpr bool kAsksAhead = kRows > 1 || sizeof(typename Weights::Element) == 1;

// Adds num_inputs products to sums [kRows][kTiles][kTile]. Rows of x lie x_stride apart, the tiles
// of the weights [kTiles][.][kTile] tile_stride. Where to_next is not 0, the L2 cache is asked for
// the weights that lie so far after these.
template <typename Weights, int kRows, int kTiles>
void add_products(const float* x, int64_t x_stride, const typename Weights::Element* weights,
                  int64_t tile_stride, int64_t num_inputs, float* sums, int64_t to_next) {
    static_assert(kRows * kTiles <= kMaxRows, "the sums must stay in registers");
    Vec total[kTiles][kRows][2];
    for (int tile = 0; tile < kTiles; ++tile) {
        for (int row = 0; row < kRows; ++row) {
            const float* from = sums + (row * kTiles + tile) * kTile;
            total[tile][row][0] = load<Vec>(from);
            total[tile][row][1] = load<Vec>(from + kLanes);
        }
    }
    const auto add_input = [&](int64_t k) __attribute__((always_inline)) {
#pragma GCC unroll 12
        for (int tile = 0; tile < kTiles; ++tile) {
            Vec first, second;
            Weights::load_pair(weights + tile * tile_stride + k * kTile, first, second);
#pragma GCC unroll 12
            for (int row = 0; row < kRows; ++row) {
                const Vec value = broadcast(x[row * x_stride + k]);
                total[tile][row][0] = fma(value, first, total[tile][row][0]);
                total[tile][row][1] = fma(value, second, total[tile][row][1]);
            }
        }
    };
    int64_t k = 0;
    if constexpr (kAsksAhead<Weights, kRows>) {
        constexpr int kLine = kCacheLineBytes / sizeof(typename Weights::Element);
        constexpr int kInputsAtOnce = kLine < kTile ? 1 : kLine / kTile;
        for (; to_next != 0 && k + kInputsAtOnce <= num_inputs; k += kInputsAtOnce) {
#pragma GCC unroll 12
            for (int tile = 0; tile < kTiles; ++tile) {
                const auto* lines = weights + to_next + tile * tile_stride + k * kTile;
                for (int at = 0; at < kInputsAtOnce * kTile; at += kLine) {
                    __builtin_prefetch(lines + at, 0, 2);
                }
            }
#pragma GCC unroll 12
            for (int i = 0; i < kInputsAtOnce; ++i) add_input(k + i);
        }
    }
    for (; k < num_inputs; ++k) add_input(k);
    for (int tile = 0; tile < kTiles; ++tile) {
        for (int row = 0; row < kRows; ++row) {
            float* to = sums + (row * kTiles + tile) * kTile;
            store(to, total[tile][row][0]);
            store(to + kLanes, total[tile][row][1]);
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
