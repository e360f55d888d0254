// What threads share out in attention: blocks of rows, and tiles of the keys they see.
#pragma once
#include <memory>

#include "attention_softmax.h"
#include "pool.h"

namespace paged_host {

// What a thread works on at once, whatever the number of rows.
constexpr int64_t kMaxRows = 32;
// Keys and values of all heads of a tile, and of the next, stay in the L2 cache.
constexpr int64_t kMaxKeyBytes = 1024;
// Rows of a head beyond these are worth making floats of keys and values first.
constexpr int64_t kDirectRows = 2 * kRowsAtOnce;
// What is asked for before it is read: what a thread reads in the time that memory takes to answer.
constexpr int64_t kAheadBytes = 8 << 10;
// The same of floats in half the time that a row's weights of a tile take.
constexpr int64_t kAskedBytes = 1 << 10;
// Keys of a head that are taken in turn with those of others, as they lie in a block.
constexpr int64_t kStripKeys = 16;
// Blocks of rows take unequal times, for later tokens of a prompt see more keys; those of a chunk
// ask for each other's keys.
constexpr int64_t kChunksPerThread = 32;
static_assert(kTileKeys % kStripKeys == 0 && kStripKeys % kLanes == 0, "strips fill a tile");

// Rows [first_row, first_row + num_rows) of (token of the sequence) * group_size + head of the
// group, of each of some KV heads.
struct RowBlock {
    int64_t seq;
    int64_t kv_head, num_heads;
    int64_t first_row, num_rows;
    // What any of the rows sees.
    int64_t first_key, last_key;
    int64_t first_partial;  // where its tiles are kept if they are computed apart

    int64_t first_tile() const { return first_key / kTileKeys; }
    int64_t last_tile() const { return ceil_div(last_key, kTileKeys); }
    int64_t all_rows() const { return num_heads * num_rows; }
    // Of the i-th of all rows.
    int64_t kv_head_of(int64_t i) const { return kv_head + i / num_rows; }
    int64_t row_of(int64_t i) const { return first_row + i % num_rows; }
};

// The keys [first, last) of a tile that any row of a block sees.
struct Tile {
    const RowBlock* rows;
    int64_t index;
    int64_t first, last;

    Tile(const RowBlock& block, int64_t tile)
        : rows(&block),
          index(tile),
          first(std::max(block.first_key, tile * kTileKeys)),
          last(std::min(block.last_key, (tile + 1) * kTileKeys)) {}

    // Scores lie in whole vectors, from a multiple of kLanes on.
    int64_t begin() const { return first / kLanes * kLanes; }
    int64_t num() const { return ceil_div(last, kLanes) * kLanes - begin(); }
};

// One thread's memory for blocks of up to num_rows rows.
class Scratch {
public:
    Scratch(int64_t num_rows, int64_t width)
        : lines_(new Line[static_cast<size_t>(
              ceil_div(num_rows * (3 * width + kTileKeys) + kStripKeys * width, kLineFloats))]) {
        float* at = lines_[0].floats;
        query = take(at, num_rows * width);
        tile = take(at, num_rows * width);
        total = take(at, num_rows * width);
        scores = take(at, num_rows * kTileKeys);
        strip = take(at, kStripKeys * width);
        for (int64_t i = 0; i < kStripKeys; ++i) strip_rows[i] = strip + i * width;
    }
    float *query, *tile, *total, *scores, *strip;
    const float* strip_rows[kStripKeys];
    Scoring scoring[kMaxRows];
    float largest[kMaxRows], sum[kMaxRows];

private:
    static constexpr int64_t kLineFloats = kCacheLineBytes / int64_t{sizeof(float)};
    // Vectors that lie in two lines would take twice as long to load.
    struct alignas(kCacheLineBytes) Line {
        float floats[kLineFloats];
    };

    static float* take(float*& at, int64_t num) {
        at += num;
        return at - num;
    }
    std::unique_ptr<Line[]> lines_;
};

}  // namespace paged_host
