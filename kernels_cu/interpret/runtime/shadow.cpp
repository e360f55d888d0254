// Memory for shadows.
#include "shadow.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "signals.h"

namespace paged_interpret {

Shadow::Shadow(size_t num_bytes) {
    num_shadow_bytes_ = (num_bytes / kWordBytes + 1) * sizeof(Cell);
    void* memory = mmap(nullptr, num_shadow_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) _exit(kShortOfMemoryStatus);
    cells_ = static_cast<Cell*>(memory);
}

Shadow::~Shadow() {
    if (cells_ != nullptr) munmap(cells_, num_shadow_bytes_);
}

Shadow::Shadow(Shadow&& other) noexcept { *this = std::move(other); }

Shadow& Shadow::operator=(Shadow&& other) noexcept {
    std::swap(cells_, other.cells_);
    std::swap(num_shadow_bytes_, other.num_shadow_bytes_);
    return *this;
}

}  // namespace paged_interpret
