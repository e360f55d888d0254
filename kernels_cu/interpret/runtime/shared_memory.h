// The shared memory of the block that an OS thread runs: thread-local memory of the kernel's own
// library, static arrays and the dynamic one.
#pragma once

#include <cstddef>

#include "launch.h"

namespace paged_interpret {

class SharedMemory {
public:
    explicit SharedMemory(const Request& request);
    // Fills all of it, and a margin behind the dynamic part, with the poison byte.
    void poison() const;
    bool contains(const void* address) const;
    const char* begin() const { return begin_; }
    const char* dynamic() const { return dynamic_; }  // null: the kernel has none
    // How far the margin was written to; 0 in a block that keeps to its memory.
    size_t num_bytes_past_end() const;

private:
    const Request& request_;
    char* begin_;
    char* end_;
    char* dynamic_;  // null: the kernel has none
};

}  // namespace paged_interpret
