// What rows of attention do with a few keys and values.
//
// A score is one key's and one row's alone, and values are added key by key: neither depends on
// which other keys and rows are computed beside it, nor on whether they were floats before.
#pragma once
#include <utility>

#include "row_vectors.h"
#include "vec_math.h"

namespace paged_host {

constexpr int64_t kTileKeys = 128;
// Keys whose products a row sums up at once.
constexpr int kKeysAtOnce = 4;
// Rows that share a key while it is in registers, of the 16 that AVX2 has.
constexpr int kRowsAtOnce = 4;
constexpr int64_t kCacheLineBytes = 64;
static_assert(kLanes % kKeysAtOnce == 0, "a vector of scores is made of whole groups of keys");

// Within each 128 bits: two lanes of a and two of b, the first or the last ones of each; in turn
// (a b a b), or those of a first.
template <bool kLast, bool kInTurn, int... kLane>
PAGED_INLINE Vec pick(Vec a, Vec b, std::integer_sequence<int, kLane...>) {
    constexpr auto from = [](int lane) {
        const int part = lane / 4 * 4, within = lane % 4;
        const int of = kInTurn ? within % 2 : within / 2, at = kInTurn ? within / 2 : within % 2;
        return of * kLanes + part + at + 2 * kLast;
    };
    return __builtin_shufflevector(a, b, from(kLane)...);
}

template <bool kInTurn>
PAGED_INLINE Vec add_halves(Vec a, Vec b) {
    constexpr auto kAll = std::make_integer_sequence<int, kLanes>();
    return pick<false, kInTurn>(a, b, kAll) + pick<true, kInTurn>(a, b, kAll);
}

using KeyVec = float __attribute__((vector_size(4 * kKeysAtOnce)));

// Stores the sums of the lanes of each.
PAGED_INLINE void store_sums(const Vec (&sums)[kKeysAtOnce], float* to) {
    // halves of 128 bits onto each other, for two and then four of the sums at once
    const Vec parts = add_halves<false>(add_halves<true>(sums[0], sums[1]),
                                        add_halves<true>(sums[2], sums[3]));
    KeyVec total = load<KeyVec>(&parts);
    for (int i = 1; i < kLanes / kKeysAtOnce; ++i) {
        total += load<KeyVec>(reinterpret_cast<const KeyVec*>(&parts) + i);
    }
    store(to, total);
}

// Asks for num_bytes from a place on, and moves it past them.
PAGED_INLINE void prefetch(const char*& ahead, int64_t num_bytes) {
    for (int64_t i = 0; i < num_bytes; i += kCacheLineBytes) __builtin_prefetch(ahead + i);
    ahead += num_bytes;
}

template <typename Key, int kHalf, int kRows, int kKeys>
PAGED_INLINE void multiply_half(const float* queries, int64_t width,
                                const typename Key::Storage* const* keys, int64_t offset,
                                Vec (&sums)[kRows][kKeys]) {
    Vec query[kRows];
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
        query[row] = load<Vec>(queries + row * width + kHalf * kLanes);
        if (kRows > 3) hold(query[row]);
    }
#pragma GCC unroll 4
    for (int key = 0; key < kKeys; ++key) {
        const Vec value = load_half<Key, kHalf>(keys[key] + offset);
#pragma GCC unroll 4
        for (int row = 0; row < kRows; ++row) {
            sums[row][key] = fma(query[row], value, sums[row][key]);
        }
    }
}

// Products of queries [kRows][width] with keys, offset elements after where they point, in
// scores [kRows][kTileKeys]. Each is one chain from vector 0 up. num_keys counts whole groups of
// kKeysAtOnce. Asks for as many bytes `ahead` as it reads.
template <typename Key, int kRows>
void multiply_keys(const float* queries, const typename Key::Storage* const* keys, int64_t offset,
                   int64_t num_keys, int64_t width, float* scores, const char* ahead) {
    // as many sums as registers hold beside the queries
    constexpr int kKeys = kRows > 2 ? kKeysAtOnce / 2 : kKeysAtOnce;
    constexpr int64_t kBytes = kKeys * kPair * int64_t{sizeof(typename Key::Storage)};
    for (int64_t first = 0; first < num_keys; first += kKeysAtOnce) {
        Vec all[kRows][kKeysAtOnce];
#pragma GCC unroll 2
        for (int part = 0; part < kKeysAtOnce; part += kKeys) {
            const auto* const* some = keys + first + part;
            Vec sums[kRows][kKeys]{};
            for (int64_t i = 0; i < width; i += kPair) {
                prefetch(ahead, kBytes);
                multiply_half<Key, 0>(queries + i, width, some, offset + i, sums);
                multiply_half<Key, 1>(queries + i, width, some, offset + i, sums);
            }
#pragma GCC unroll 4
            for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
                for (int key = 0; key < kKeys; ++key) all[row][part + key] = sums[row][key];
            }
        }
#pragma GCC unroll 4
        for (int row = 0; row < kRows; ++row) {
            store_sums(all[row], scores + row * kTileKeys + first);
        }
    }
}

// totals [kRows][width] += weights [kRows][kTileKeys] * values [num_keys], key by key, for kPairs
// pairs of vectors. Values lie offset elements after where they point.
template <typename Value, int kRows, int kPairs>
void add_slice(const float* weights, const typename Value::Storage* const* values, int64_t offset,
               int64_t num_keys, int64_t width, float* totals, const char* ahead) {
    constexpr int64_t kBytes = kPairs * kPair * int64_t{sizeof(typename Value::Storage)};
    Vec sums[kRows][2 * kPairs];
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
        for (int i = 0; i < 2 * kPairs; ++i) {
            sums[row][i] = load<Vec>(totals + row * width + i * kLanes);
        }
    }
    for (int64_t key = 0; key < num_keys; ++key) {
        prefetch(ahead, kBytes);
        Vec weight[kRows];
#pragma GCC unroll 4
        for (int row = 0; row < kRows; ++row) {
            weight[row] = broadcast(weights[row * kTileKeys + key]);
        }
        const auto* value = values[key] + offset;
#pragma GCC unroll 4
        for (int pair = 0; pair < kPairs; ++pair) {
            const Vec first = load_half<Value, 0>(value + pair * kPair);
#pragma GCC unroll 4
            for (int row = 0; row < kRows; ++row) {
                sums[row][2 * pair] = fma(weight[row], first, sums[row][2 * pair]);
            }
            const Vec second = load_half<Value, 1>(value + pair * kPair);
#pragma GCC unroll 4
            for (int row = 0; row < kRows; ++row) {
                sums[row][2 * pair + 1] = fma(weight[row], second, sums[row][2 * pair + 1]);
            }
        }
    }
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
        for (int i = 0; i < 2 * kPairs; ++i) {
            store(totals + row * width + i * kLanes, sums[row][i]);
        }
    }
}

// The same for whole rows. Asks for as many bytes `ahead` as it reads.
template <typename Value, int kRows>
void add_values(const float* weights, const typename Value::Storage* const* values, int64_t offset,
                int64_t num_keys, int64_t width, float* totals, const char* ahead) {
    // Enough sums to hide the latency of an addition, and no more than registers hold: g++ keeps
    // the mask of bfloat16 in one.
    constexpr bool kIsFull = kRows > 3 || (kRows > 2 && std::is_same_v<Value, Bfloat16>);
    constexpr int kPairs = kRows == 1 ? 4 : kIsFull ? 1 : 2;
    const int64_t pair_bytes = num_keys * kPair * int64_t{sizeof(typename Value::Storage)};
    int64_t i = 0;
    for (; i + kPairs * kPair <= width; i += kPairs * kPair, ahead += kPairs * pair_bytes) {
        add_slice<Value, kRows, kPairs>(weights, values, offset + i, num_keys, width, totals + i,
                                        ahead);
    }
    for (; i < width; i += kPair, ahead += pair_bytes) {
        add_slice<Value, kRows, 1>(weights, values, offset + i, num_keys, width, totals + i, ahead);
    }
}

// The instances for a number of rows.
template <typename Stored>
struct RowKernels {
    void (*multiply_keys)(const float* queries, const Stored* const* keys, int64_t offset,
                          int64_t num_keys, int64_t width, float* scores, const char* ahead);
    void (*add_values)(const float* weights, const Stored* const* values, int64_t offset,
                       int64_t num_keys, int64_t width, float* totals, const char* ahead);
};

template <typename Type, int... kRow>
const RowKernels<typename Type::Storage>& row_kernels(int64_t num_rows,
                                                      std::integer_sequence<int, kRow...>) {
    static constexpr RowKernels<typename Type::Storage> kKernels[] = {
        {multiply_keys<Type, kRow + 1>, add_values<Type, kRow + 1>}...};
    return kKernels[num_rows - 1];
}

template <typename Type>
const RowKernels<typename Type::Storage>& row_kernels(int64_t num_rows) {
    return row_kernels<Type>(num_rows, std::make_integer_sequence<int, kRowsAtOnce>());
}

}  // namespace paged_host
