// New keys and values into the slots of a pool, and the same with rotary embedding. Threads share
// the tokens.
#include <algorithm>
#include <vector>

#include "cache_rows.h"
#include "host_export.h"
#include "pool.h"

namespace paged_host {
namespace {

template <typename Args>
bool is_in_pool(const Args& args, int64_t token) {
    const int64_t slot = args.slot_mapping[token];
    return slot >= 0 && slot < int64_t{args.num_blocks} * args.block_size;
}

// Writes a head's row, keys (half 0) or values (1), to the token's slot.
template <typename From, typename Kv, typename Args>
void write_row(const Args& args, int64_t token, int64_t half, int64_t head,
               const typename From::Storage* row, int64_t stride) {
    auto* pool = static_cast<typename Kv::Storage*>(args.kv_pool);
    const int64_t offset = row_offset(args.kv_pool_stride, args.slot_mapping[token],
                                      args.block_size, args.layer, half, head);
    const float* scale = scale_of(args.kv_scales, args.layer, half, head, args.num_kv_heads);
    store_row<From, Kv>(row, stride, scale, pool + offset, args.kv_pool_stride[5], args.head_dim);
}

template <typename Key, typename Kv, typename Args>
void write_token(const Args& args, int64_t token, int64_t half, const void* rows,
                 const long long* stride) {
    const auto* row = static_cast<const typename Key::Storage*>(rows) + token * stride[0];
    for (int64_t head = 0; head < args.num_kv_heads; ++head, row += stride[1]) {
        write_row<Key, Kv>(args, token, half, head, row, stride[2]);
    }
}

// Turns the pairs of a row [head_dim] of floats by a position's angles.
void rotate(float* row, const float* cosines, const float* sines, int64_t num_pairs,
            bool interleaved) {
    const int64_t step = interleaved ? 2 : 1, apart = interleaved ? 1 : num_pairs;
    for (int64_t i = 0; i < num_pairs; ++i) {
        const float first = row[i * step], second = row[i * step + apart];
        row[i * step] = first * cosines[i] - second * sines[i];
        row[i * step + apart] = second * cosines[i] + first * sines[i];
    }
}

template <typename Key, typename Kv>
class RopeWrite {
public:
    explicit RopeWrite(const RopeWriteKvParams& args)
        : a_(args), row_(static_cast<size_t>(args.head_dim + kLanes)) {}

    void run(int64_t token) {
        const int64_t position = a_.positions[token];
        auto* out = static_cast<Stored*>(a_.out) + token * a_.num_q_heads * a_.head_dim;
        if (position < 0 || position >= a_.max_positions) {
            std::fill(out, out + int64_t{a_.num_q_heads} * a_.head_dim, Key::from_float(0.0f));
            return;
        }
        for (int64_t head = 0; head < a_.num_q_heads; ++head, out += a_.head_dim) {
            const float* turned = turn(a_.query, a_.query_stride, token, head, position);
            store_row<Float32, Key>(turned, 1, nullptr, out, 1, a_.head_dim);
        }
        if (!is_in_pool(a_, token)) return;
        for (int64_t head = 0; head < a_.num_kv_heads; ++head) {
            const float* turned = turn(a_.key, a_.key_stride, token, head, position);
            write_row<Float32, Kv>(a_, token, 0, head, turned, 1);
        }
        write_token<Key, Kv>(a_, token, 1, a_.value, a_.value_stride);
    }

private:
    using Stored = typename Key::Storage;

    const float* turn(const void* heads, const long long* stride, int64_t token, int64_t head,
                      int64_t position) {
        const auto* from = static_cast<const Stored*>(heads);
        to_floats<Key>(from + token * stride[0] + head * stride[1], stride[2], a_.head_dim,
                       row_.data());
        const int64_t num_pairs = a_.rotary_dim / 2;
        const float* cosines = a_.cos_sin + position * a_.rotary_dim;
        rotate(row_.data(), cosines, cosines + num_pairs, num_pairs, a_.interleaved);
        return row_.data();
    }

    const RopeWriteKvParams& a_;
    std::vector<float> row_;
};

// Tokens of which one chunk is worth a thread.
int64_t tokens_at_once(int64_t num_heads, int64_t head_dim) {
    return items_of(kLeastChunkBytes / int64_t{sizeof(float)}, num_heads * head_dim);
}

}  // namespace
}  // namespace paged_host

PAGED_EXPORT void paged_host_write_kv(const WriteKvParams* args, const paged_host::Element* types,
                                      int num_threads) {
    using namespace paged_host;
    const WriteKvParams& a = *args;
    const int64_t least = tokens_at_once(2 * a.num_kv_heads, a.head_dim);
    with_float(types[0], [&](auto key) {
        with_element(types[1], [&](auto kv) {
            parallel_for(num_threads, a.num_tokens, chunk_of(num_threads, a.num_tokens, least),
                         [&](int64_t token, int64_t end) {
                             for (; token < end; ++token) {
                                 if (!is_in_pool(a, token)) continue;
                                 using Key = decltype(key);
                                 using Kv = decltype(kv);
                                 write_token<Key, Kv>(a, token, 0, a.key, a.key_stride);
                                 write_token<Key, Kv>(a, token, 1, a.value, a.value_stride);
                             }
                         });
        });
    });
}

PAGED_EXPORT void paged_host_rope_write_kv(const RopeWriteKvParams* args,
                                           const paged_host::Element* types, int num_threads) {
    using namespace paged_host;
    const RopeWriteKvParams& a = *args;
    const int64_t least = tokens_at_once(a.num_q_heads + 2 * a.num_kv_heads, a.head_dim);
    with_float(types[0], [&](auto key) {
        with_element(types[1], [&](auto kv) {
            parallel_for(num_threads, a.num_tokens, chunk_of(num_threads, a.num_tokens, least),
                         [&](int64_t token, int64_t end) {
                             RopeWrite<decltype(key), decltype(kv)> rope(a);
                             for (; token < end; ++token) rope.run(token);
                         });
        });
    });
}
