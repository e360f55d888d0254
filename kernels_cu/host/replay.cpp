// Kernels one after the other, as they were recorded.
#include "host_export.h"
#include "host_records.h"

namespace paged_host {

struct Call {
    void (*run)(const void* record, const Element* types, int num_threads);
    const void* record;
    const Element* types;
};

}  // namespace paged_host

PAGED_EXPORT void paged_host_replay(const paged_host::Call* calls, int64_t num_calls,
                                    int num_threads) {
    for (int64_t i = 0; i < num_calls; ++i) {
        calls[i].run(calls[i].record, calls[i].types, num_threads);
    }
}
