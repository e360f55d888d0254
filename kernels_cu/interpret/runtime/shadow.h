// What is remembered of memory: for each word its last accesses, and which bytes are defined.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paged_interpret {

// One access.
struct Record {
    uint32_t stamp;   // see ordering.h
    uint32_t block;   // its linear index
    uint32_t place;   // in the kernel's library
    uint16_t thread;  // its linear index
    uint8_t mask;     // bytes of the word; 0: no access
    uint8_t is_atomic;
};

struct Cell {
    Record write;
    Record reads[2];  // since that write, of different threads, of different warps where there are
    // Of shared memory, for one block only:
    uint32_t defined_block;  // from 1
    uint8_t defined;         // bytes that were written
    uint8_t in_flight;       // bytes that an asynchronous copy will write
};

// Cells of a range of memory, zeros at first: only those that are touched take memory.
class Shadow {
public:
    static constexpr uint64_t kWordBytes = 4;

    Shadow() = default;
    explicit Shadow(size_t num_bytes);
    ~Shadow();
    Shadow(Shadow&& other) noexcept;
    Shadow& operator=(Shadow&& other) noexcept;

    // The cell of the word that an offset lies in.
    Cell& cell(uint64_t offset) const { return cells_[offset / kWordBytes]; }

private:
    Cell* cells_ = nullptr;
    size_t num_shadow_bytes_ = 0;
};

}  // namespace paged_interpret
