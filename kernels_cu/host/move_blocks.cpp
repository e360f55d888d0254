// Whole blocks from place to place, in a pool or between two, and rows of sequences out of a pool.
#include <algorithm>

#include "cache_rows.h"
#include "host_export.h"
#include "pool.h"

namespace paged_host {
namespace {

constexpr int kBlockAxes = 5;

int64_t element_bytes(Element type) {
    switch (type) {
        case Element::k_float32: return 4;
        case Element::k_float16:
        case Element::k_bfloat16: return 2;
        default: return 1;
    }
}

// Pairs [num_pairs][2] of blocks. Strides are in elements, that of the blocks first.
struct Moves {
    const char* source;
    char* destination;
    const long long* pairs;
    int64_t num_pairs;
    int64_t num_source_blocks;
    int64_t num_destination_blocks;
    const long long* source_stride;
    const long long* destination_stride;
    int64_t sizes[kBlockAxes];
    int64_t element_bytes;
};

// Copies a block as runs that are contiguous in both pools.
class BlockCopy {
public:
    explicit BlockCopy(const Moves& moves) : m_(moves) {
        while (num_outer_ > 0) {
            const int axis = num_outer_ - 1;
            const bool follows = m_.source_stride[axis + 1] == run_ &&
                                 m_.destination_stride[axis + 1] == run_;
            if (!follows && m_.sizes[axis] != 1) break;
            run_ *= m_.sizes[axis];
            --num_outer_;
        }
        for (int axis = 0; axis < num_outer_; ++axis) num_runs_ *= m_.sizes[axis];
    }

    int64_t num_runs() const { return num_runs_; }

    int64_t run_bytes() const { return run_ * m_.element_bytes; }

    void copy(int64_t pair, int64_t run) const {
        const int64_t from = m_.pairs[2 * pair], to = m_.pairs[2 * pair + 1];
        if (from < 0 || from >= m_.num_source_blocks) return;
        if (to < 0 || to >= m_.num_destination_blocks) return;
        int64_t source = from * m_.source_stride[0], destination = to * m_.destination_stride[0];
        for (int axis = num_outer_ - 1; axis >= 0; --axis) {
            const int64_t index = run % m_.sizes[axis];
            run /= m_.sizes[axis];
            source += index * m_.source_stride[axis + 1];
            destination += index * m_.destination_stride[axis + 1];
        }
        // careful: a block may be copied onto itself
        std::memmove(m_.destination + destination * m_.element_bytes,
                     m_.source + source * m_.element_bytes, static_cast<size_t>(run_bytes()));
    }

private:
    const Moves& m_;
    int num_outer_ = kBlockAxes;
    int64_t run_ = 1;
    int64_t num_runs_ = 1;
};

void move_blocks(const Moves& moves, int num_threads) {
    const BlockCopy block(moves);
    const int64_t num_items = moves.num_pairs * block.num_runs();
    const int64_t least = items_of(kLeastChunkBytes, block.run_bytes());
    parallel_for(num_threads, num_items, chunk_of(num_threads, num_items, least),
                 [&](int64_t item, int64_t end) {
                     for (; item < end; ++item) {
                         block.copy(item / block.num_runs(), item % block.num_runs());
                     }
                 });
}

template <typename Kv, typename Key>
class Gather {
public:
    explicit Gather(const GatherKvParams& args) : a_(args) {}

    void run(int64_t token) const {
        const int64_t slot = slot_of(token);
        for (int64_t half = 0; half < 2; ++half) {
            auto* to = static_cast<typename Key::Storage*>(half == 0 ? a_.key : a_.value) +
                       token * a_.num_kv_heads * a_.head_dim;
            for (int64_t head = 0; head < a_.num_kv_heads; ++head, to += a_.head_dim) {
                if (slot == kNowhere) {
                    std::fill(to, to + a_.head_dim, Key::from_float(0.0f));
                    continue;
                }
                const auto* from = static_cast<const typename Kv::Storage*>(a_.kv_pool) +
                                   row_offset(a_.kv_pool_stride, slot, a_.block_size, a_.layer,
                                              half, head);
                read_row<Kv, Key>(from, a_.kv_pool_stride[5],
                                  scale_of(a_.kv_scales, a_.layer, half, head, a_.num_kv_heads),
                                  to, a_.head_dim);
            }
        }
    }

private:
    static constexpr int64_t kNowhere = -1;

    int64_t slot_of(int64_t token) const {
        const int* begin = a_.kv_start;
        const int* end = begin + a_.num_seqs + 1;
        const int64_t seq = std::upper_bound(begin, end, static_cast<int>(token)) - begin - 1;
        if (seq < 0 || seq >= a_.num_seqs) return kNowhere;
        const int64_t position = token - a_.kv_start[seq];
        const int64_t entry = position / a_.block_size;
        if (entry >= a_.max_blocks) return kNowhere;
        const int64_t block = a_.block_tables[seq * a_.max_blocks + entry];
        if (block < 0 || block >= a_.num_blocks) return kNowhere;
        return block * a_.block_size + position % a_.block_size;
    }

    const GatherKvParams& a_;
};

}  // namespace
}  // namespace paged_host

PAGED_EXPORT void paged_host_copy_blocks(const CopyBlocksParams* args,
                                         const paged_host::Element* types, int num_threads) {
    const CopyBlocksParams& a = *args;
    auto* pool = static_cast<char*>(a.kv_pool);
    paged_host::move_blocks({pool, pool, a.pairs, a.num_pairs, a.num_blocks, a.num_blocks,
                             a.kv_pool_stride, a.kv_pool_stride,
                             {a.num_layers, 2, a.num_kv_heads, a.block_size, a.head_dim},
                             paged_host::element_bytes(types[0])},
                            num_threads);
}

PAGED_EXPORT void paged_host_swap_blocks(const SwapBlocksParams* args,
                                         const paged_host::Element* types, int num_threads) {
    const SwapBlocksParams& a = *args;
    paged_host::move_blocks({static_cast<const char*>(a.source), static_cast<char*>(a.destination),
                             a.pairs, a.num_pairs, a.num_source_blocks, a.num_destination_blocks,
                             a.source_stride, a.destination_stride,
                             {a.num_layers, 2, a.num_kv_heads, a.block_size, a.head_dim},
                             paged_host::element_bytes(types[0])},
                            num_threads);
}

PAGED_EXPORT void paged_host_gather_kv(const GatherKvParams* args, const paged_host::Element* types,
                                       int num_threads) {
    using namespace paged_host;
    const GatherKvParams& a = *args;
    const int64_t row_bytes = int64_t{sizeof(float)} * 2 * a.num_kv_heads * a.head_dim;
    const int64_t least = items_of(kLeastChunkBytes, row_bytes);
    const int64_t chunk = chunk_of(num_threads, a.num_tokens, least);
    with_element(types[0], [&](auto kv) {
        with_float(types[1], [&](auto key) {
            const Gather<decltype(kv), decltype(key)> gather(a);
            parallel_for(num_threads, a.num_tokens, chunk, [&](int64_t token, int64_t end) {
                for (; token < end; ++token) gather.run(token);
            });
        });
    });
}
