// silu(gate) * up, of rows that hold the gates and then the others.
#include "host_export.h"
#include "host_records.h"
#include "pool.h"
#include "vec_math.h"

namespace paged_host {
namespace {

// Less than this is not worth waking a thread for.
constexpr int64_t kLeastChunkElements = 1 << 12;

PAGED_INLINE Vec silu_mul(Vec gate, Vec up) { return gate / (exp(-gate) + 1.0f) * up; }

void silu_mul_row(const float* gates, const float* ups, float* y, int64_t num) {
    int64_t i = 0;
    for (; i + kLanes <= num; i += kLanes) {
        store(y + i, silu_mul(load<Vec>(gates + i), load<Vec>(ups + i)));
    }
    const int64_t rest = num - i;
    store_some(y + i, silu_mul(load_some(gates + i, rest), load_some(ups + i, rest)), rest);
}

}  // namespace
}  // namespace paged_host

// Shapes: gate_up [num_rows][2][num_columns], y [num_rows][num_columns].
PAGED_EXPORT void paged_host_silu_mul(const paged_host::SiluMulRecord* record,
                                      const paged_host::Element*, int num_threads) {
    using namespace paged_host;
    const SiluMulRecord& a = *record;
    const int64_t least = items_of(kLeastChunkElements, a.num_columns);
    parallel_for(num_threads, a.num_rows, chunk_of(num_threads, a.num_rows, least),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row) {
                         const float* gates = a.gate_up + 2 * row * a.num_columns;
                         silu_mul_row(gates, gates + a.num_columns, a.y + row * a.num_columns,
                                      a.num_columns);
                     }
                 });
}
