// What is remembered of memory: for each word its last accesses, and which bytes are defined.
#pragma once

#include <cstddef>
#include <cstdint>

#include "zeros.h"

namespace paged_interpret {

// One access.
struct Record {
    uint32_t stamp;   // see ordering.h
    uint32_t place;   // in the kernel's library
    uint16_t thread;  // its linear index
    uint8_t mask;     // bytes of the word; 0: no access
    uint8_t is_atomic;
};

struct Cell {
    Record write;
    Record reads[2];  // since that write, of different threads, of different warps where there are
    // Of shared memory, for the block of that write only:
    uint8_t defined;    // bytes that were written
    uint8_t in_flight;  // bytes that an asynchronous copy will write
    // Of a vector of words: they have cells of their own.
    uint8_t is_split;
};

// Cells of the words of a range of memory, and of its vectors: one cell will do for four words as
// long as they are accessed as one.
class Shadow {
public:
    static constexpr uint64_t kWordBytes = 4;
    static constexpr uint64_t kVectorBytes = 16;
    static constexpr uint8_t kWholeWord = (1u << kWordBytes) - 1;  // a mask of its bytes

    Shadow() = default;
    explicit Shadow(size_t num_bytes)
        : words_(num_bytes / kWordBytes + 1), vectors_(num_bytes / kVectorBytes + 1) {}

    // The cell of the word that an offset lies in.
    Cell& word(uint64_t offset) const { return words_[offset / kWordBytes]; }
    // The cell of an access's words if it is of a vector that has only been accessed as one, else
    // null; its words have cells of their own from then on.
    Cell* vector(uint64_t offset, uint64_t num_bytes) const;

private:
    void split(uint64_t offset) const;

    Zeros<Cell> words_, vectors_;
};

}  // namespace paged_interpret
