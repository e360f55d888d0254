// Rows of a packed weight as floats: token embeddings from the weight that the logits come from.
#include <atomic>

#include "host_export.h"
#include "host_records.h"
#include "linear_tile.h"
#include "pool.h"

namespace paged_host {
namespace {

// Less than this is not worth waking a thread for.
constexpr int64_t kLeastChunkElements = 1 << 12;

template <typename Weights>
void unpack_row(const void* tiles, const float* scales, int64_t row, int64_t num_columns,
                float* y) {
    const int lane = static_cast<int>(row % kTile);
    const auto* from = static_cast<const typename Weights::Element*>(tiles) +
                       row / kTile * kTile * num_columns + Weights::place(lane);
    const float scale = scales == nullptr ? 1.0f : scales[row];
    for (int64_t k = 0; k < num_columns; ++k) y[k] = Weights::value(from[k * kTile]) * scale;
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
// Returns how many tokens are no rows of the weight; of these nothing is read or written.
PAGED_EXPORT int64_t paged_host_embedding(paged_host::Element type, const void* tiles,
                                          const float* scales, int64_t num_rows,
                                          int64_t num_columns, const int64_t* tokens, float* y,
                                          int64_t num_tokens, int num_threads) {
    using namespace paged_host;
    const UnpackRow unpack = unpacker(type);
    const int64_t least = items_of(kLeastChunkElements, num_columns);
    std::atomic<int64_t> num_wrong{0};
    parallel_for(num_threads, num_tokens, chunk_of(num_threads, num_tokens, least),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                         if (tokens[i] < 0 || tokens[i] >= num_rows) {
                             num_wrong.fetch_add(1);
                         } else {
                             unpack(tiles, scales, tokens[i], num_columns, y + i * num_columns);
                         }
                     }
                 });
    return num_wrong.load();
}
