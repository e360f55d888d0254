// x W^T + bias with packed weights: tiles of them, the last one padded.
//
// Threads share the tiles. Rows are taken in groups that stay in the L2 cache beside a panel, which
// is kPanelInputs inputs of a tile and stays in L1 while the rows of a group pass by, kMaxRows at a
// time.
#include "host_export.h"
#include "host_records.h"
#include "linear_tile.h"
#include "pool.h"
#include "rounded_rows.h"

namespace paged_host {
namespace {

constexpr int64_t kGroupBytes = 1 << 18;
// Weights that are asked for ahead of their use leave most of the L2 cache to rows.
constexpr int64_t kMostAheadBytes = 1 << 17;
constexpr int64_t kLeastGroup = 4 * kMaxRows;
constexpr int64_t kMostGroup = 10 * kMaxRows;

template <typename Weights>
class Product {
public:
    using Element = typename Weights::Element;
    using Input = typename Weights::Input;

    // x: all rows, with inputs filled up as those of the weights are.
    Product(const LinearRecord& record, const Rows<Input>& x)
        : a_(record), x_(x), num_inputs_(padded_inputs<Weights>(record.in_features)) {}

    void run(int num_threads) const {
        const int64_t num_tiles = ceil_div(a_.out_features, kTile);
        const int64_t num_groups = ceil_div(a_.num_rows, group_rows());
        const int at_once = tiles_at_once(ceil_div(a_.num_rows, num_groups));
        const int64_t item_bytes = at_once * num_inputs_ * kTile * int64_t{sizeof(Element)};
        const int64_t num_items = ceil_div(num_tiles, at_once);
        const int64_t least = ceil_div(kLeastChunkBytes, item_bytes + 1);
        const int64_t chunk = chunk_of(num_threads, num_items, least);
        parallel_for(num_threads, num_items, chunk, [&](int64_t begin, int64_t end) {
            const int64_t last_tile = end * at_once < num_tiles ? end * at_once : num_tiles;
            for (int64_t group = 0; group < num_groups; ++group) {
                const int64_t first = a_.num_rows * group / num_groups;
                const int64_t last = a_.num_rows * (group + 1) / num_groups;
                int64_t tile = begin * at_once;
                for (; tile + at_once <= last_tile; tile += at_once) {
                    compute(tile, at_once, first, last);
                }
                for (; tile < last_tile; ++tile) compute(tile, 1, first, last);
            }
        });
    }

private:
    int64_t group_rows() const {
        const int64_t rows = kGroupBytes / int64_t{sizeof(Input)} / (num_inputs_ + 1);
        return rows < kLeastGroup ? kLeastGroup : rows > kMostGroup ? kMostGroup : rows;
    }

    // Computes the outputs of some tiles for the rows from first to last.
    void compute(int64_t tile, int num_tiles, int64_t first, int64_t last) const {
        alignas(kCacheLineBytes) float sums[kMostGroup * kTile];
        const int64_t num_rows = last - first, width = num_tiles * kTile;
        std::memset(sums, 0, static_cast<size_t>(num_rows * width) * sizeof(float));
        const int64_t num_blocks = ceil_div(num_rows, kMaxRows);
        const int64_t tile_stride = num_inputs_ * kTile;
        const Element* weights = static_cast<const Element*>(a_.tiles) + tile * tile_stride;
        const int64_t to_ahead = ahead_of(num_tiles);
        for (int64_t k = 0; k < num_inputs_; k += kPanelInputs) {
            const int64_t rest = num_inputs_ - k;
            const int64_t num_inputs = rest < kPanelInputs ? rest : kPanelInputs;
            const Element* panel = weights + k * kTile;
            // each block asks for its share: all of it at once would hold up the first
            const auto* ahead = reinterpret_cast<const char*>(panel + to_ahead);
            const int64_t step = kUnitBytes<Weights> / num_blocks;
            const int64_t share = num_inputs / kUnitInputs<Weights> * step;
            for (int64_t block = 0; block < num_blocks; ++block) {
                const int64_t begin = num_rows * block / num_blocks;
                const int64_t end = num_rows * (block + 1) / num_blocks;
                adder<Weights>(static_cast<int>(end - begin), num_tiles)(
                    rows_from(first + begin, k), panel, tile_stride, num_inputs,
                    sums + begin * width, {ahead + block * share, step});
            }
        }
        for (int64_t row = 0; row < num_rows; ++row) {
            for (int i = 0; i < num_tiles; ++i) {
                finish(tile + i, sums + row * width + i * kTile,
                       a_.y + (first + row) * a_.out_features);
            }
        }
    }

    Rows<Input> rows_from(int64_t row, int64_t input) const {
        return Rows<Input>{x_.values + row * x_.stride + input, x_.stride,
                           x_.scales + row * x_.scale_stride + input / kPanelInputs,
                           x_.scale_stride};
    }

    // How far after weights those lie that are asked for beside them: a whole item if so much
    // may wait in the L2 cache, for panels at its end and its begin differ in length; else a panel.
    int64_t ahead_of(int num_tiles) const {
        const int64_t item = num_tiles * num_inputs_ * kTile;
        const bool may_wait = item * int64_t{sizeof(Element)} <= kMostAheadBytes;
        return may_wait ? item : kPanelInputs * kTile;
    }

    void finish(int64_t tile, float* sums, float* row) const {
        const int64_t begin = tile * kTile, rest = a_.out_features - begin;
        const int64_t num = rest < kTile ? rest : kTile;
        if (a_.scales != nullptr) {
            for (int64_t i = 0; i < num; ++i) sums[i] *= a_.scales[begin + i];
        }
        if (a_.bias != nullptr) {
            for (int64_t i = 0; i < num; ++i) sums[i] += a_.bias[begin + i];
        }
        std::memcpy(row + begin, sums, static_cast<size_t>(num) * sizeof(float));
    }

    const LinearRecord& a_;
    const Rows<Input> x_;
    const int64_t num_inputs_;
};

template <typename Weights>
void multiply_floats(const LinearRecord& a, int num_threads) {
    Product<Weights>(a, {a.x, a.in_features, nullptr, 0}).run(num_threads);
}

void multiply_integers(const LinearRecord& a, int num_threads) {
    const int64_t padded = padded_inputs<Int8Weights>(a.in_features);
    round_rows(a, padded, num_threads);
    const int64_t num_panels = ceil_div(a.in_features, kPanelInputs);
    Product<Int8Weights>(a, {a.row_integers, padded, a.row_scales, num_panels}).run(num_threads);
}

}  // namespace
}  // namespace paged_host

// Shapes: scales and bias [out_features] or null, x [num_rows][in_features],
// y [num_rows][out_features]. Of int8 alone, and written: row_integers [num_rows][in_features,
// padded], row_scales [num_rows][panels].
PAGED_EXPORT void paged_host_linear(const paged_host::LinearRecord* record,
                                    const paged_host::Element* types, int num_threads) {
    using namespace paged_host;
    if (record->num_rows == 0) return;
    const Element type = types[0];
    if (type == Element::k_int8) return multiply_integers(*record, num_threads);
    if (type == Element::k_bfloat16) return multiply_floats<Bfloat16Weights>(*record, num_threads);
    multiply_floats<Float32Weights>(*record, num_threads);
}
