// A block of rows of attention: (token, head) pairs of one sequence and some KV heads, so that a
// key is loaded once for all query heads that share it, and keys are read as they lie in a block.
#pragma once
#include "attention_work.h"
#include "cache_rows.h"

namespace paged_host {

// What every block of a call has in common.
template <typename Query, typename Kv>
class BlockAttention {
public:
    using Stored = typename Kv::Storage;

    explicit BlockAttention(const AttentionParams& args)
        : a_(args),
          width_(ceil_div(args.head_dim, kPair) * kPair),
          is_whole_(args.kv_pool_stride[5] == 1 && args.head_dim % kPair == 0) {}

    // Floats of a row: head_dim, rounded up to whole pairs of vectors.
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

    // Sets the queries of a block, and what each row sees.
    void begin(const RowBlock& block, Scratch& scratch) const {
        const auto* query = static_cast<const typename Query::Storage*>(a_.query);
        for (int64_t i = 0; i < block.all_rows(); ++i) {
            const int64_t kv_head = block.kv_head_of(i), row = block.row_of(i);
            const auto* from = query + token_of(block.seq, row) * a_.query_stride[0] +
                               query_head(kv_head, row) * a_.query_stride[1];
            float* to = scratch.query + i * width_;
            to_floats<Query>(from, a_.query_stride[2], a_.head_dim, to);
            std::fill(to + a_.head_dim, to + width_, 0.0f);
            to_places<Kv>(to, width_);
            scratch.scoring[i] = scoring(block.seq, kv_head, row);
        }
    }

    // Sets the tile's part of each row: scratch.largest, sum and tile. Meanwhile asks for what is
    // read next, of the next tile too if there is one.
    void compute(const Tile& tile, const Tile* next, Scratch& scratch) const {
        const RowBlock& block = *tile.rows;
        const Stored* keys[kTileKeys];
        find_keys(tile, keys);
        Ahead ahead(*this, tile, keys, next);
        for_strips(tile, [&](int64_t head, int64_t key, int64_t num) {
            multiply(tile, key, keys + key, head, num, scratch, ahead.of_strip());
        });
        for (int64_t row = 0; row < block.all_rows(); ++row) {
            float* scores = scratch.scores + row * kTileKeys;
            ahead.ask();
            const float largest = score(scratch.scoring[row], tile.begin(), tile.num(), scores);
            scratch.largest[row] = largest;
            ahead.ask();
            if (largest != kMinusInfinity) scratch.sum[row] = weigh(largest, tile.num(), scores);
        }
        std::fill(scratch.tile, scratch.tile + block.all_rows() * width_, 0.0f);
        for_strips(tile, [&](int64_t head, int64_t key, int64_t num) {
            add(tile, key, keys + key, head, num, scratch, ahead.of_strip());
        });
    }

private:
    // Walks the strips of a tile, then those of the next, as they are read but kAheadBytes earlier.
    // While weights are computed it goes on, and beside strips it rests as often, so that memory is
    // never idle. A hint: past the last tile it begins again, and strips count as one piece.
    class Ahead {
    public:
        Ahead(const BlockAttention& of, const Tile& tile, const Stored* const* keys,
              const Tile* following)
            : of_(of),
              num_heads_(tile.rows->num_heads),
              num_keys_(tile.num()),
              keys_(keys),
              following_(following),
              strip_bytes_(kStripKeys * of.width_ * int64_t{sizeof(Stored)}),
              num_strips_(2 * num_heads_ * ceil_div(num_keys_, kStripKeys)) {
            const int64_t num_asks = 2 * tile.rows->all_rows();
            // narrower ones take longer to compute with than to read, and would only be held up
            const int64_t asked_bytes = std::is_same_v<Kv, Float32> ? kAskedBytes : 0;
            num_rests_ = std::min(num_strips_, num_asks * asked_bytes / strip_bytes_);
            ask_bytes_ = num_rests_ * strip_bytes_ / num_asks;
            for (int64_t i = 0; i < ceil_div(kAheadBytes, strip_bytes_); ++i) last_ = next();
        }

        // Where that lies which is to be asked for beside the next strip.
        const char* of_strip() {
            const int64_t before = strip_ * num_rests_ / num_strips_;
            ++strip_;
            const bool rests = strip_ * num_rests_ / num_strips_ != before;
            return last_ = rests ? last_ : next();
        }

        // Asks for a part, twice for each row.
        void ask() {
            for (int64_t bytes = 0; bytes < ask_bytes_; bytes += kCacheLineBytes) {
                if (left_bytes_ <= 0) {
                    asked_ = next();
                    left_bytes_ = strip_bytes_;
                }
                prefetch(asked_, kCacheLineBytes);
                left_bytes_ -= kCacheLineBytes;
            }
        }

    private:
        const char* next() {
            const auto* at = keys_[key_] + half_ * of_.a_.kv_pool_stride[2] +
                             head_ * of_.a_.kv_pool_stride[3];
            if (++head_ == num_heads_) {
                head_ = 0;
                key_ += kStripKeys;
                if (key_ >= num_keys_) turn();
            }
            return reinterpret_cast<const char*>(at);
        }

        // From keys to values, and from values to the next tile's keys.
        void turn() {
            key_ = 0;
            half_ = 1 - half_;
            if (half_ == 1 || following_ == nullptr) return;
            num_heads_ = following_->rows->num_heads;
            num_keys_ = following_->num();
            of_.find_keys(*following_, next_keys_);
            keys_ = next_keys_;
        }

        const BlockAttention& of_;
        int64_t num_heads_, num_keys_;
        const Stored* const* keys_;
        const Tile* following_;
        const Stored* next_keys_[kTileKeys];
        int64_t half_ = 0, key_ = 0, head_ = 0;
        int64_t strip_bytes_, num_strips_;  // of the tile
        // Strips beside which nothing new is asked for, and bytes of a part.
        int64_t num_rests_, ask_bytes_;
        int64_t strip_ = 0, left_bytes_ = 0;
        const char *last_ = nullptr, *asked_ = nullptr;
    };

    // Sets where the keys of a tile lie from its begin on, those of its first KV head.
    void find_keys(const Tile& tile, const Stored** keys) const {
        const long long* stride = a_.kv_pool_stride;
        const auto* pool = static_cast<const Stored*>(a_.kv_pool) + a_.layer * stride[1] +
                           tile.rows->kv_head * stride[3];
        int64_t entry = tile.first / a_.block_size, slot = tile.first % a_.block_size;
        const int* table = a_.block_tables + tile.rows->seq * int64_t{a_.max_blocks};
        const Stored** to = keys + (tile.first - tile.begin());
        for (int64_t key = tile.first; key < tile.last; ++entry, slot = 0) {
            const Stored* at = pool + table[entry] * stride[0] + slot * stride[4];
            for (; slot < a_.block_size && key < tile.last; ++slot, ++key, at += stride[4]) {
                *to++ = at;
            }
        }
        // careful: entries of the table for keys that nobody sees are undefined
        std::fill(keys, keys + (tile.first - tile.begin()), keys[tile.first - tile.begin()]);
        std::fill(to, keys + tile.num(), to[-1]);
    }

    // Calls body(head, key, num_keys) for all strips of a tile, keys counted from its begin.
    template <typename Body>
    static void for_strips(const Tile& tile, Body&& body) {
        for (int64_t key = 0; key < tile.num(); key += kStripKeys) {
            const int64_t num = std::min(kStripKeys, tile.num() - key);
            for (int64_t head = 0; head < tile.rows->num_heads; ++head) body(head, key, num);
        }
    }

    // Calls body(type, rows, offset) with keys or values as they lie, or made floats first.
    template <typename Body>
    void with_strip(const RowBlock& block, const Stored* const* stored, int64_t offset,
                    int64_t num_keys, Scratch& scratch, Body&& body) const {
        const bool has_few_rows = block.num_rows <= kDirectRows;
        if (is_whole_ && (std::is_same_v<Kv, Float32> || has_few_rows)) {
            return body(Kv{}, stored, offset);
        }
        for (int64_t i = 0; i < num_keys; ++i) {
            to_vectors<Kv>(stored[i] + offset, a_.kv_pool_stride[5], a_.head_dim, width_,
                           scratch.strip + i * width_);
        }
        body(Float32{}, scratch.strip_rows, 0);
    }

    // Products of the rows of a head with the keys from `place` in the tile on.
    void multiply(const Tile& tile, int64_t place, const Stored* const* keys, int64_t head,
                  int64_t num_keys, Scratch& scratch, const char* ahead) const {
        const RowBlock& block = *tile.rows;
        const int64_t offset = head * a_.kv_pool_stride[3], first = head * block.num_rows;
        const auto run = [&](auto type, const auto* const* rows, int64_t shift) {
            using Key = decltype(type);
            for_rows<Key>(block.num_rows, [&](const auto& kernels, int64_t row, int64_t) {
                kernels.multiply_keys(scratch.query + (first + row) * width_, rows, shift, num_keys,
                                      width_, scratch.scores + (first + row) * kTileKeys + place,
                                      ahead);
            });
        };
        with_strip(block, keys, offset, num_keys, scratch, run);
    }

    // Adds the values from `place` in the tile on to the rows of a head.
    void add(const Tile& tile, int64_t place, const Stored* const* keys, int64_t head,
             int64_t num_keys, Scratch& scratch, const char* ahead) const {
        const RowBlock& block = *tile.rows;
        const int64_t offset = head * a_.kv_pool_stride[3] + a_.kv_pool_stride[2];
        const int64_t first = head * block.num_rows;
        const auto run = [&](auto type, const auto* const* values, int64_t shift) {
            using Value = decltype(type);
            for_rows<Value>(block.num_rows, [&](const auto& kernels, int64_t row, int64_t num) {
                add_to_rows<Value>(kernels, first + row, num, values, shift,
                                   tile.begin() + place, num_keys, scratch, place, ahead);
            });
        };
        with_strip(block, keys, offset, num_keys, scratch, run);
    }

    // Adds what all of a few rows see at once, and what not all of them see one by one.
    template <typename Value, typename Kernels>
    void add_to_rows(const Kernels& kernels, int64_t row, int64_t num_rows,
                     const typename Value::Storage* const* values, int64_t offset, int64_t key,
                     int64_t num_keys, Scratch& scratch, int64_t place, const char* ahead) const {
        const Scoring* scoring = scratch.scoring + row;
        const auto add_keys = [&](const Kernels& how, int64_t i, int64_t low, int64_t high) {
            low = std::max(low, key);
            high = std::min(high, key + num_keys);
            if (low >= high) return;
            how.add_values(scratch.scores + (row + i) * kTileKeys + place + (low - key),
                           values + (low - key), offset, high - low, width_,
                           scratch.tile + (row + i) * width_, ahead);
        };
        // both ends grow with the position
        const int64_t to = scoring[0].end, from = std::min(scoring[num_rows - 1].begin, to);
        const auto& single = row_kernels<Value>(1);
        for (int64_t i = 0; i < num_rows; ++i) add_keys(single, i, scoring[i].begin, from);
        add_keys(kernels, 0, from, to);
        for (int64_t i = 0; i < num_rows; ++i) {
            add_keys(single, i, std::max(to, scoring[i].begin), scoring[i].end);
        }
    }

    // Calls body(kernels, first_row, num_rows) for all rows, a few at a time.
    template <typename Type, typename Body>
    static void for_rows(int64_t num_rows, Body&& body) {
        if (num_rows <= kRowsAtOnce) return body(row_kernels<Type>(num_rows), int64_t{0}, num_rows);
        const int64_t num_groups = ceil_div(num_rows, kRowsAtOnce);
        for (int64_t group = 0; group < num_groups; ++group) {
            const int64_t row = num_rows * group / num_groups;
            const int64_t num = num_rows * (group + 1) / num_groups - row;
            body(row_kernels<Type>(num), row, num);
        }
    }

    const AttentionParams& a_;
    int64_t width_;
    // Rows of the pool are whole pairs of vectors, side by side.
    bool is_whole_;
};

}  // namespace paged_host
