// Bytes from one place to another, on all threads.
#include <cstring>

#include "host_export.h"
#include "host_records.h"
#include "pool.h"

PAGED_EXPORT void paged_host_copy(const paged_host::CopyRecord* record, const paged_host::Element*,
                                  int num_threads) {
    using namespace paged_host;
    const CopyRecord& a = *record;
    const int64_t chunk = chunk_of(num_threads, a.num_bytes, kLeastChunkBytes);
    parallel_for(num_threads, a.num_bytes, chunk, [&](int64_t begin, int64_t end) {
        std::memcpy(static_cast<char*>(a.to) + begin, static_cast<const char*>(a.from) + begin,
                    static_cast<size_t>(end - begin));
    });
}
