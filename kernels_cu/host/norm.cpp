// RMS norm of rows, alone or of a sum of two. Each row's sum of squares is taken in a fixed order.
#include <cmath>

#include "host_export.h"
#include "host_records.h"
#include "pool.h"
#include "vec.h"

namespace paged_host {
namespace {

// Less than this is not worth waking a thread for.
constexpr int64_t kLeastChunkElements = 1 << 14;
// Sums kept side by side, to hide the latency of an addition.
constexpr int kChains = 4;

float sum_of_squares(const float* row, int64_t num_columns) {
    Vec sums[kChains]{};
    int64_t i = 0;
    for (; i + kChains * kLanes <= num_columns; i += kChains * kLanes) {
        for (int chain = 0; chain < kChains; ++chain) {
            const Vec value = load<Vec>(row + i + chain * kLanes);
            sums[chain] = fma(value, value, sums[chain]);
        }
    }
    for (; i < num_columns; i += kLanes) {
        const int64_t rest = num_columns - i;
        const Vec value = load_some(row + i, rest < kLanes ? rest : kLanes);
        sums[0] = fma(value, value, sums[0]);
    }
    static_assert(kChains == 4, "the sums are added in pairs");
    return sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

void add(const float* x, const float* residual, float* total, int64_t num_columns) {
    for (int64_t i = 0; i < num_columns; ++i) total[i] = x[i] + residual[i];
}

void normalize(const RmsNormRecord& a, int64_t row) {
    const int64_t at = row * a.num_columns;
    const float* x = a.x + at;
    if (a.residual != nullptr) {
        add(x, a.residual + at, a.total + at, a.num_columns);
        x = a.total + at;
    }
    const float mean = sum_of_squares(x, a.num_columns) / static_cast<float>(a.num_columns);
    const float scale = 1.0f / std::sqrt(mean + a.eps);
    float* y = a.y + at;
    for (int64_t i = 0; i < a.num_columns; ++i) y[i] = x[i] * scale * a.weight[i];
}

}  // namespace
}  // namespace paged_host

// Shapes: x, residual, total and y [num_rows][num_columns], weight [num_columns]; residual, which is
// added to x, and total, where the sum is kept, may both be null.
PAGED_EXPORT void paged_host_rms_norm(const paged_host::RmsNormRecord* record,
                                      const paged_host::Element*, int num_threads) {
    using namespace paged_host;
    const RmsNormRecord& a = *record;
    const int64_t least = items_of(kLeastChunkElements, a.num_columns);
    parallel_for(num_threads, a.num_rows, chunk_of(num_threads, a.num_rows, least),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row) normalize(a, row);
                 });
}
