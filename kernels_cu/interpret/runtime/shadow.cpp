// Memory for shadows.
#include "shadow.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "signals.h"

namespace paged_interpret {

Cells::Cells(size_t num_cells) : num_bytes_(num_cells * sizeof(Cell)) {
    void* memory = mmap(nullptr, num_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) _exit(kShortOfMemoryStatus);
    cells_ = static_cast<Cell*>(memory);
}

Cells::~Cells() {
    if (cells_ != nullptr) munmap(cells_, num_bytes_);
}

Cells::Cells(Cells&& other) noexcept { *this = std::move(other); }

Cells& Cells::operator=(Cells&& other) noexcept {
    std::swap(cells_, other.cells_);
    std::swap(num_bytes_, other.num_bytes_);
    return *this;
}

Cell* Shadow::vector(uint64_t offset, uint64_t num_bytes) const {
    if (offset % kVectorBytes == 0 && num_bytes == kVectorBytes) {
        Cell& cell = vectors_[offset / kVectorBytes];
        return cell.is_split != 0 ? nullptr : &cell;
    }
    const uint64_t end = offset + num_bytes;
    for (uint64_t at = offset / kVectorBytes * kVectorBytes; at < end; at += kVectorBytes) {
        split(at);
    }
    return nullptr;
}

void Shadow::split(uint64_t offset) const {
    Cell& cell = vectors_[offset / kVectorBytes];
    if (cell.is_split != 0) return;
    for (uint64_t at = 0; at < kVectorBytes; at += kWordBytes) word(offset + at) = cell;
    cell.is_split = 1;
}

}  // namespace paged_interpret
