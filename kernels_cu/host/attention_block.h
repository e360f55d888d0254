// A block of rows of attention: up to kMaxRows (token, head) pairs of one sequence and one KV head,
// so that a key is loaded once for all query heads that share it.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "attention_tile.h"
#include "cache_rows.h"
#include "pool.h"

namespace paged_host {

constexpr int64_t kTileKeys = 256;
constexpr int64_t kMaxRows = 32;
// Values of so many keys stay in the L1 cache while rows pass by.
constexpr int64_t kStripKeys = 32;
static_assert(kTileKeys % kStripKeys == 0 && kStripKeys % kLanes == 0, "strips fill a tile");

// Rows [first_row, first_row + num_rows) of (token of the sequence) * group_size + head.
struct RowBlock {
    int64_t seq;
    int64_t kv_head;
    int64_t first_row;
    int64_t num_rows;
    int64_t first_tile;
    int64_t last_tile;     // half open
    int64_t first_partial; // where its tiles are kept if they are computed apart
};

// One thread's memory for a block of rows.
class Scratch {
public:
    explicit Scratch(int64_t width) : floats_(static_cast<size_t>(size_of(width))) {
        float* at = floats_.data();
        query = take(at, kMaxRows * width);
        tile = take(at, kMaxRows * width);
        total = take(at, kMaxRows * width);
        scores = take(at, kMaxRows * kTileKeys);
        strip = take(at, kStripKeys * width);
    }
    float *query, *tile, *total, *scores, *strip;
    const float* floats[kStripKeys];
    float largest[kMaxRows], sum[kMaxRows];

private:
    static int64_t size_of(int64_t width) {
        return 3 * kMaxRows * width + kMaxRows * kTileKeys + kStripKeys * width;
    }
    static float* take(float*& at, int64_t num) {
        at += num;
        return at - num;
    }
    std::vector<float> floats_;
};

// What every block of a call has in common.
template <typename Query, typename Kv>
class BlockAttention {
public:
    using Stored = typename Kv::Storage;

    explicit BlockAttention(const AttentionParams& args)
        : a_(args),
          width_(ceil_div(args.head_dim, kLanes) * kLanes),
          is_direct_(std::is_same_v<Kv, Float32> && args.kv_pool_stride[5] == 1 &&
                     args.head_dim % kLanes == 0) {}

    // Floats of a row: head_dim, rounded up to whole vectors.
    int64_t width() const { return width_; }

    int64_t query_head(int64_t kv_head, int64_t row) const {
        return kv_head * a_.group_size + row % a_.group_size;
    }

    // The token in the whole batch.
    int64_t token_of(int64_t seq, int64_t row) const {
        return std::min(a_.query_start[seq], a_.num_tokens) + row / a_.group_size;
    }

    Scoring scoring(int64_t seq, int64_t kv_head, int64_t row) const {
        const int64_t position =
            a_.seq_lens[seq] - int64_t{a_.query_start[seq + 1]} + token_of(seq, row);
        const int64_t capacity = int64_t{a_.max_blocks} * a_.block_size;
        const float* slope = a_.alibi_slopes;
        return Scoring{
            a_.scale * kv_scale(0, kv_head),
            a_.softcap,
            slope == nullptr ? 0.0f : slope[query_head(kv_head, row)],
            position,
            std::max<int64_t>(0, position + 1 - a_.window),
            std::min(position + 1, capacity),
        };
    }

    float kv_scale(int64_t half, int64_t kv_head) const {
        const float* scale = scale_of(a_.kv_scales, a_.layer, half, kv_head, a_.num_kv_heads);
        return scale == nullptr ? 1.0f : *scale;
    }

    void load_queries(const RowBlock& block, Scratch& scratch) const {
        const auto* query = static_cast<const typename Query::Storage*>(a_.query);
        for (int64_t row = 0; row < block.num_rows; ++row) {
            const int64_t token = token_of(block.seq, block.first_row + row);
            const int64_t head = query_head(block.kv_head, block.first_row + row);
            to_floats<Query>(query + token * a_.query_stride[0] + head * a_.query_stride[1],
                             a_.query_stride[2], a_.head_dim, scratch.query + row * width_);
        }
    }

    // Sets the tile's part of each row: scratch.largest, sum and tile.
    void compute(const RowBlock& block, int64_t tile, Scratch& scratch) const {
        Scoring rows[kMaxRows];
        int64_t first = (tile + 1) * kTileKeys, last = tile * kTileKeys;
        for (int64_t row = 0; row < block.num_rows; ++row) {
            rows[row] = scoring(block.seq, block.kv_head, block.first_row + row);
            const int64_t begin = std::max(rows[row].begin, tile * kTileKeys);
            const int64_t end = std::min(rows[row].end, (tile + 1) * kTileKeys);
            if (begin < end) {
                first = std::min(first, begin);
                last = std::max(last, end);
            }
        }
        const Stored* keys[kTileKeys];
        const int64_t begin = first / kLanes * kLanes;
        find_keys(block, first, last, keys + (first - begin));
        multiply(block, begin, first, last, keys, scratch);
        for (int64_t row = 0; row < block.num_rows; ++row) {
            float* scores = scratch.scores + row * kTileKeys;
            const float largest = first < last ? score(rows[row], begin, last - begin, scores)
                                               : kMinusInfinity;
            scratch.largest[row] = largest;
            if (largest != kMinusInfinity) scratch.sum[row] = weigh(largest, last - begin, scores);
        }
        std::fill(scratch.tile, scratch.tile + block.num_rows * width_, 0.0f);
        add_strips(block, rows, begin, first, last, keys, scratch);
    }

private:
    // Sets where the keys [first, last) lie.
    void find_keys(const RowBlock& block, int64_t first, int64_t last, const Stored** keys) const {
        const long long* stride = a_.kv_pool_stride;
        const auto* pool = static_cast<const Stored*>(a_.kv_pool) + a_.layer * stride[1] +
                           block.kv_head * stride[3];
        int64_t entry = first / a_.block_size, slot = first % a_.block_size;
        const int* table = a_.block_tables + block.seq * int64_t{a_.max_blocks};
        for (int64_t key = first; key < last; ++entry, slot = 0) {
            const Stored* at = pool + table[entry] * stride[0] + slot * stride[4];
            for (; slot < a_.block_size && key < last; ++slot, ++key, at += stride[4]) *keys++ = at;
        }
    }

    // Points at num vectors as floats, converted into the scratch's strip where they are not.
    void as_floats(const Stored* const* stored, int64_t offset, int64_t num,
                   Scratch& scratch) const {
        for (int64_t i = 0; i < num; ++i) {
            if constexpr (std::is_same_v<Kv, Float32>) {
                if (is_direct_) {
                    scratch.floats[i] = stored[i] + offset;
                    continue;
                }
            }
            float* to = scratch.strip + i * width_;
            to_floats<Kv>(stored[i] + offset, a_.kv_pool_stride[5], a_.head_dim, to);
            scratch.floats[i] = to;
        }
    }

    // Products of all rows with the keys of [first, last), which start at `begin` in `keys`.
    void multiply(const RowBlock& block, int64_t begin, int64_t first, int64_t last,
                  const Stored* const* keys, Scratch& scratch) const {
        for (int64_t group = begin; group < last; group += kLanes) {
            const Stored* wanted[kLanes];
            for (int64_t i = 0; i < kLanes; ++i) {
                // careful: entries of the table for keys that nobody sees are undefined
                wanted[i] = keys[std::clamp(group + i, first, last - 1) - begin];
            }
            prefetch(keys + (group - begin), last - group);
            as_floats(wanted, 0, kLanes, scratch);
            for (int64_t row = 0; row < block.num_rows; ++row) {
                const Vec products = dot_keys(scratch.query + row * width_, scratch.floats, width_);
                store(scratch.scores + row * kTileKeys + group - begin, products);
            }
        }
    }

    // Asks for the keys of the group after next, and for the values of this one.
    void prefetch(const Stored* const* keys, int64_t num_keys) const {
        constexpr int64_t kAhead = 2 * kLanes, kLineBytes = 64;
        const int64_t line = kLineBytes / int64_t{sizeof(Stored)};
        for (int64_t i = 0; i < kLanes && i < num_keys; ++i) {
            for (int64_t d = 0; d < a_.head_dim; d += line) {
                __builtin_prefetch(keys[i] + a_.kv_pool_stride[2] + d, 0, 2);
                if (i + kAhead < num_keys) __builtin_prefetch(keys[i + kAhead] + d);
            }
        }
    }

    void add_strips(const RowBlock& block, const Scoring* rows, int64_t begin, int64_t first,
                    int64_t last, const Stored* const* keys, Scratch& scratch) const {
        for (int64_t key = first; key < last;) {
            const int64_t end = std::min(last, (key / kStripKeys + 1) * kStripKeys);
            as_floats(keys + (key - begin), a_.kv_pool_stride[2], end - key, scratch);
            for (int64_t row = 0; row < block.num_rows; ++row) {
                if (scratch.largest[row] == kMinusInfinity) continue;
                const int64_t from = std::max(key, rows[row].begin);
                const int64_t to = std::min(end, rows[row].end);
                if (from >= to) continue;
                add_values(scratch.scores + row * kTileKeys + (from - begin),
                           scratch.floats + (from - key), to - from, width_,
                           scratch.tile + row * width_);
            }
            key = end;
        }
    }

    const AttentionParams& a_;
    int64_t width_;
    bool is_direct_;
};

}  // namespace paged_host
