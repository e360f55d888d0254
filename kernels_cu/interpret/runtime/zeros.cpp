// Memory of arrays of zeros.
#include "zeros.h"

#include <sys/mman.h>
#include <unistd.h>

#include "signals.h"

namespace paged_interpret {

namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
// Beyond it, few touches here and there must not take all the memory that there is.
constexpr size_t kMaxHugeBytes = size_t{256} << 20;

bool is_huge(size_t num_bytes) {
    return num_bytes >= kHugePageBytes / 2 && num_bytes <= kMaxHugeBytes;
}

// Whole huge pages: only to those does the kernel find an address that suits them.
size_t mapped_bytes(size_t num_bytes) {
    if (!is_huge(num_bytes)) return num_bytes;
    return (num_bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

}  // namespace

void* map_zeros(size_t num_bytes) {
    void* memory = mmap(nullptr, mapped_bytes(num_bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) _exit(kShortOfMemoryStatus);
    // A small page that is read and then written faults twice, which took half of a judged copy.
    if (is_huge(num_bytes)) madvise(memory, mapped_bytes(num_bytes), MADV_HUGEPAGE);
    return memory;
}

void unmap_zeros(void* memory, size_t num_bytes) { munmap(memory, mapped_bytes(num_bytes)); }

}  // namespace paged_interpret
