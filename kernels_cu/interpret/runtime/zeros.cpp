// Memory of arrays of zeros.
#include "zeros.h"

#include <sys/mman.h>
#include <unistd.h>

#include "signals.h"

namespace paged_interpret {

void* map_zeros(size_t num_bytes) {
    void* memory = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) _exit(kShortOfMemoryStatus);
    return memory;
}

void unmap_zeros(void* memory, size_t num_bytes) { munmap(memory, num_bytes); }

}  // namespace paged_interpret
