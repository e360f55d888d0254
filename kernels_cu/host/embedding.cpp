// Rows of a packed weight as floats: token embeddings from the weight that the logits come from.
#include <atomic>

#include "host_export.h"
#include "host_records.h"
#include "linear_weights.h"
#include "pool.h"

namespace paged_host {
namespace {

// Less than this is not worth waking a thread for.
constexpr int64_t kLeastChunkElements = 1 << 12;

template <typename Weights>
void unpack_row(const void* tiles, const float* scales, int64_t row, int64_t num_columns,
                float* y) {
    const auto lane = static_cast<int>(row % kTile);
    const auto* tile = static_cast<const typename Weights::Element*>(tiles) +
                       row / kTile * kTile * padded_inputs<Weights>(num_columns);
    const float scale = scales == nullptr ? 1.0f : scales[row];
    for (int64_t k = 0; k < num_columns; ++k) {
        y[k] = Weights::value(tile[Weights::place(k, lane)]) * scale;
    }
}

using UnpackRow = decltype(&unpack_row<Float32Weights>);

UnpackRow unpacker(Element type) {
    if (type == Element::k_bfloat16) return unpack_row<Bfloat16Weights>;
    if (type == Element::k_int8) return unpack_row<Int8Weights>;
    return unpack_row<Float32Weights>;
}

}  // namespace
}  // namespace paged_host

// Shapes: tokens [num_tokens], y [num_tokens][num_columns]; the weight as in paged_host_linear.
// Of tokens that are no rows of the weight nothing is read or written, and num_wrong counts them.
PAGED_EXPORT void paged_host_embedding(paged_host::EmbeddingRecord* record,
                                       const paged_host::Element* types, int num_threads) {
    using namespace paged_host;
    const EmbeddingRecord& a = *record;
    const UnpackRow unpack = unpacker(types[0]);
    const int64_t least = items_of(kLeastChunkElements, a.num_columns);
    std::atomic<int64_t> num_wrong{0};
    parallel_for(num_threads, a.num_tokens, chunk_of(num_threads, a.num_tokens, least),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                         const int64_t token = a.tokens[i];
                         if (token < 0 || token >= a.num_rows) {
                             num_wrong.fetch_add(1);
                         } else {
                             unpack(a.tiles, a.scales, token, a.num_columns,
                                    a.y + i * a.num_columns);
                         }
                     }
                 });
    record->num_wrong = num_wrong.load();
}
