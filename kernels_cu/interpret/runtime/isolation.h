// Launches in a forked child process, so that no kernel can harm its caller.
//
// The parent maps a region for each group of overlapping operands: shared memory that ends (or
// begins) at an unreadable page. The child patches the addresses in its own copy of the arguments,
// makes inputs read-only and runs the grid; the parent forwards what the kernel prints, waits, and
// copies the outputs back once the child has succeeded.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launch.h"

namespace paged_interpret {

constexpr int kFailedStatus = 3;

// Memory that operands lie in. Filled by Python, but for the last two.
struct Region {
    char* caller;        // where the caller has it
    uint64_t num_bytes;
    uint32_t is_written;
    uint32_t is_copied;  // 0: the child works on its copy-on-write view of the caller's memory
    char* mapped;        // where the child has it
    char* reserved;      // with its guards
};

// Filled by Python.
struct Operand {
    char* caller;
    char* slot;  // the eight bytes of the arguments that hold the address
    uint32_t region;
    uint32_t is_poisoned;
    uint32_t element_bytes;
    uint32_t num_axes;
    const int64_t* sizes;    // elements
    const int64_t* strides;  // elements
};

struct Memory {
    Region* regions;
    Operand* operands;
    uint32_t num_regions;
    uint32_t num_operands;
    uint32_t guard_begin;  // 1: regions begin at an unreadable page; 0: they end at one
    uint32_t poison;
};

bool map_regions(Memory& memory);
void unmap_regions(Memory& memory);
// In the child: new addresses into the arguments, inputs read-only.
void enter_regions(const Memory& memory);
// Describes a write around a region, outside of all operands; returns false where there is none.
bool find_stray_write(const Memory& memory, Report& report);
void copy_back(const Memory& memory);
// Fills the elements of operands that start undefined.
void poison_operands(const Memory& memory, bool in_place);

// Reports faults and requests to stop of the calling OS thread; on a stack of its own.
void watch_signals();
void watch_stack();
constexpr int kStopSignal = 12;  // SIGUSR2

}  // namespace paged_interpret
