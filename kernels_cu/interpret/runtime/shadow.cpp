// Vectors of words, and what becomes of them.
#include "shadow.h"

namespace paged_interpret {

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
