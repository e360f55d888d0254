// Attention of a ragged batch over the paged pool.
//
// Keys are taken in tiles of kTileKeys from position 0. What a tile makes of a row depends on both
// alone, and tiles are folded in order: a row's result is the same in any batch, chunk of a prompt,
// and split of the work over threads.
#include <cmath>
#include <memory>
#include <vector>

#include "attention_block.h"
#include "host_export.h"

namespace paged_host {
namespace {

template <typename Query, typename Kv>
class Attention {
public:
    Attention(const AttentionParams& args, int num_threads)
        : a_(args),
          num_threads_(num_threads),
          of_blocks_(args),
          width_(of_blocks_.width()) {}

    void run() {
        clear_padding();
        list_blocks();
        if (static_cast<int64_t>(blocks_.size()) >= 2 * num_threads_ || num_threads_ == 1) {
            run_blocks();
        } else {
            run_tiles();
        }
    }

private:
    // Tokens of no sequence see nothing.
    void clear_padding() const {
        const int64_t first = a_.num_seqs == 0 ? a_.num_tokens : a_.query_start[0];
        const int64_t last = a_.num_seqs == 0 ? a_.num_tokens : a_.query_start[a_.num_seqs];
        for (int64_t token = 0; token < a_.num_tokens; ++token) {
            if (token >= first && token < last) continue;
            for (int64_t head = 0; head < a_.num_q_heads; ++head) {
                write(token * a_.num_q_heads + head, head, Partial{kMinusInfinity, 0.0f, nullptr},
                      1.0f, false);
            }
        }
    }

    void list_blocks() {
        for (int64_t seq = 0; seq < a_.num_seqs; ++seq) {
            const int64_t begin = std::min(a_.query_start[seq], a_.num_tokens);
            const int64_t end = std::min(a_.query_start[seq + 1], a_.num_tokens);
            const int64_t num_rows = (end - begin) * a_.group_size;
            if (num_rows == 0) continue;
            const int64_t num_heads = heads_at_once(num_rows);
            for (int64_t head = 0; head < a_.num_kv_heads; head += num_heads) {
                for (int64_t row = 0; row < num_rows; row += kMaxRows) {
                    add_block(seq, head, std::min(num_heads, a_.num_kv_heads - head), row,
                              std::min(kMaxRows, num_rows - row));
                }
            }
        }
    }

    // KV heads whose keys are read together, as they lie in a block.
    int64_t heads_at_once(int64_t num_rows) const {
        const int64_t key_bytes = a_.head_dim * int64_t{sizeof(typename Kv::Storage)};
        const int64_t most = std::min(kMaxRows / num_rows, kMaxKeyBytes / key_bytes);
        const int64_t num_groups = ceil_div(a_.num_kv_heads, std::max<int64_t>(1, most));
        return ceil_div(a_.num_kv_heads, num_groups);
    }

    void add_block(int64_t seq, int64_t kv_head, int64_t num_heads, int64_t first_row,
                   int64_t num_rows) {
        const int64_t first = of_blocks_.scoring(seq, kv_head, first_row).begin;
        const int64_t last = of_blocks_.scoring(seq, kv_head, first_row + num_rows - 1).end;
        RowBlock block{seq, kv_head, num_heads, first_row, num_rows, first, last, num_partials_};
        if (first >= last) block.first_key = block.last_key = 0;
        num_partials_ += (block.last_tile() - block.first_tile()) * block.all_rows();
        most_rows_ = std::max(most_rows_, block.all_rows());
        blocks_.push_back(block);
    }

    // The tiles of blocks [first, last), in order.
    std::vector<Tile> tiles_of(int64_t first, int64_t last) const {
        std::vector<Tile> tiles;
        for (; first < last; ++first) {
            const RowBlock& block = blocks_[static_cast<size_t>(first)];
            for (int64_t tile = block.first_tile(); tile < block.last_tile(); ++tile) {
                tiles.push_back(Tile(block, tile));
            }
        }
        return tiles;
    }

    void run_blocks() const {
        const auto num = static_cast<int64_t>(blocks_.size());
        const int64_t chunk = ceil_div(num, num_threads_ * kChunksPerThread);
        parallel_for(num_threads_, num, chunk, [&](int64_t i, int64_t end) {
            Scratch scratch(most_rows_, width_);
            const std::vector<Tile> tiles = tiles_of(i, end);
            const Tile *tile = tiles.data(), *last = tile + tiles.size();
            for (; i < end; ++i) {
                const RowBlock& block = blocks_[static_cast<size_t>(i)];
                of_blocks_.begin(block, scratch);
                std::vector<Partial> totals = nothing_seen(block, scratch);
                for (; tile != last && tile->rows == &block; ++tile) {
                    of_blocks_.compute(*tile, tile + 1 == last ? nullptr : tile + 1, scratch);
                    for (int64_t row = 0; row < block.all_rows(); ++row) {
                        fold(totals[static_cast<size_t>(row)], of_tile(scratch, row), width_);
                    }
                }
                for (int64_t row = 0; row < block.all_rows(); ++row) {
                    write_row(block, row, totals[static_cast<size_t>(row)]);
                }
            }
        });
    }

    // Few blocks, so that tiles are computed apart and folded afterwards.
    void run_tiles() const {
        const std::vector<Tile> tiles = tiles_of(0, static_cast<int64_t>(blocks_.size()));
        const auto num_partials = static_cast<size_t>(num_partials_);
        const auto num_floats = num_partials * static_cast<size_t>(width_);
        const std::unique_ptr<float[]> values(new float[num_floats]);
        std::vector<Partial> partials(num_partials);
        const auto num = static_cast<int64_t>(tiles.size());
        const int64_t chunk = chunk_of(num_threads_, num, 1);
        parallel_for(num_threads_, num, chunk, [&](int64_t i, int64_t end) {
            Scratch scratch(most_rows_, width_);
            const RowBlock* begun = nullptr;
            for (; i < end; ++i) {
                const Tile& tile = tiles[static_cast<size_t>(i)];
                const RowBlock& block = *tile.rows;
                if (begun != &block) of_blocks_.begin(block, scratch);
                begun = &block;
                of_blocks_.compute(tile, i + 1 == end ? nullptr : &tile + 1, scratch);
                int64_t place = block.first_partial;
                place += (tile.index - block.first_tile()) * block.all_rows();
                for (int64_t row = 0; row < block.all_rows(); ++row, ++place) {
                    Partial& kept = partials[static_cast<size_t>(place)];
                    kept = of_tile(scratch, row);
                    kept.values = std::copy(kept.values, kept.values + width_,
                                            values.get() + place * width_) - width_;
                }
            }
        });
        fold_tiles(partials);
    }

    void fold_tiles(const std::vector<Partial>& partials) const {
        for (const RowBlock& block : blocks_) {
            const int64_t num_floats = (block.last_tile() - block.first_tile()) * width_;
            const int64_t least = items_of(kLeastChunkBytes, num_floats * int64_t{sizeof(float)});
            const int64_t chunk = chunk_of(num_threads_, block.all_rows(), least);
            parallel_for(num_threads_, block.all_rows(), chunk, [&](int64_t row, int64_t end) {
                const std::unique_ptr<float[]> values(new float[static_cast<size_t>(width_)]);
                for (; row < end; ++row) {
                    Partial total{kMinusInfinity, 0.0f, values.get()};
                    int64_t place = block.first_partial + row;
                    for (int64_t tile = block.first_tile(); tile < block.last_tile(); ++tile) {
                        fold(total, partials[static_cast<size_t>(place)], width_);
                        place += block.all_rows();
                    }
                    write_row(block, row, total);
                }
            });
        }
    }

    std::vector<Partial> nothing_seen(const RowBlock& block, Scratch& scratch) const {
        std::vector<Partial> totals;
        for (int64_t row = 0; row < block.all_rows(); ++row) {
            totals.push_back(Partial{kMinusInfinity, 0.0f, scratch.total + row * width_});
        }
        return totals;
    }

    Partial of_tile(const Scratch& scratch, int64_t row) const {
        return Partial{scratch.largest[row], scratch.sum[row], scratch.tile + row * width_};
    }

    void write_row(const RowBlock& block, int64_t i, const Partial& total) const {
        const int64_t kv_head = block.kv_head_of(i), row = block.row_of(i);
        const int64_t head = of_blocks_.query_head(kv_head, row);
        const int64_t token = of_blocks_.token_of(block.seq, row);
        write(token * a_.num_q_heads + head, head, total, of_blocks_.kv_scale(1, kv_head), true);
    }

    // Ends a row: the sink joins the sum. Padding has none. Spoils the values.
    void write(int64_t place, int64_t head, const Partial& total, float value_scale,
               bool has_sink) const {
        const float sink = has_sink && a_.sinks != nullptr ? a_.sinks[head] : kMinusInfinity;
        const float largest = std::max(total.largest, sink);
        float keep = 0.0f, lse = largest;
        if (std::isfinite(largest)) {
            const float weight = std::exp(total.largest - largest);
            const float sum = total.sum * weight + std::exp(sink - largest);
            keep = weight / sum;
            lse = largest + std::log(sum);
        } else if (std::isnan(total.largest) || std::isnan(total.sum)) {
            keep = lse = std::numeric_limits<float>::quiet_NaN();
        }
        a_.lse[place] = lse;
        auto* out = static_cast<typename Query::Storage*>(a_.out) + place * a_.head_dim;
        if (keep == 0.0f) return void(std::fill(out, out + a_.head_dim, Query::from_float(0.0f)));
        for (int64_t i = 0; i < width_; i += kLanes) {
            store(total.values + i, load<Vec>(total.values + i) * keep * value_scale);
        }
        from_places<Kv>(total.values, width_);
        for (int64_t i = 0; i < a_.head_dim; ++i) out[i] = Query::from_float(total.values[i]);
    }

    const AttentionParams& a_;
    int64_t num_threads_;
    BlockAttention<Query, Kv> of_blocks_;
    int64_t width_;
    std::vector<RowBlock> blocks_;
    int64_t num_partials_ = 0;
    int64_t most_rows_ = 0;
};

}  // namespace
}  // namespace paged_host

PAGED_EXPORT void paged_host_attention(const AttentionParams* args,
                                       const paged_host::Element* types, int num_threads) {
    using namespace paged_host;
    with_float(types[0], [&](auto query) {
        with_element(types[1], [&](auto kv) {
            Attention<decltype(query), decltype(kv)>(*args, num_threads).run();
        });
    });
}
