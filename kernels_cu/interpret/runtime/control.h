// What a launch in a child process is told, and what it tells back. Laid out alike in Python.
//
// It lies at the start of the arena, a file in memory that the caller, the server and its children
// share: this header, tables of regions, operands and arguments, the bytes of variables, and from
// a page boundary on the memory of each region. All offsets are from the start of the arena.
#pragma once

#include <cstdint>

#include "launch.h"
#include "report.h"

namespace paged_interpret {

constexpr unsigned kMaxAxes = 12;

// Memory of one or more overlapping operands.
struct Region {
    uint64_t offset;      // of its first page
    uint64_t lead_bytes;  // on that page before the operands begin
    uint64_t num_bytes;
    uint64_t num_room_bytes;  // whole pages
    uint64_t mapped;          // answer: where the kernel sees the first operand
    uint32_t is_written;
    uint32_t is_large;  // too large to touch all of it
};

// What an observed launch did with one operand.
struct Counts {
    uint64_t num_reads;  // an atomic operation is one of each
    uint64_t num_writes;
    uint64_t read_bytes;  // as threads asked for
    uint64_t write_bytes;
    uint64_t read_sector_bytes;  // as warps did: see requests.h
    uint64_t write_sector_bytes;
};

// A tensor of the launch.
struct Operand {
    uint64_t address;            // in place: of the tensor; in a child: offset within its region
    uint32_t region;
    uint32_t argument;           // that holds its address
    uint32_t argument_offset;    // in bytes
    uint32_t is_poisoned;        // starts undefined
    uint32_t element_bytes;
    uint32_t num_axes;           // 0: not told, or none
    uint64_t num_bytes;          // from the first to the last element
    uint64_t origin;             // address where the caller has it: sectors are told from there
    int64_t sizes[kMaxAxes];     // elements
    int64_t strides[kMaxAxes];   // elements
    uint64_t defined_offset;     // in the arena: of a byte for each byte, 1 where it is defined
    uint32_t has_defined;        // else all of it is
    uint32_t is_written;         // the kernel may write it
    Counts counts;               // answer of an observed launch
};

struct ArgumentBytes {
    uint64_t offset;
    uint64_t num_bytes;
};

struct Control {
    uint64_t num_bytes;     // of all that precedes the regions
    uint64_t entry_offset;  // from the load address of the kernel's library
    uint64_t shared_bytes;
    uint32_t grid[3];
    uint32_t block[3];
    uint64_t seed;
    uint32_t is_seeded;
    uint32_t poison;
    uint32_t num_workers;
    uint32_t num_regions;
    uint32_t num_operands;
    uint32_t num_arguments;
    uint32_t is_observed;
    uint32_t is_sanitized;
    uint32_t refuses_waits;
    uint32_t unused;
    uint64_t regions_offset;
    uint64_t operands_offset;
    uint64_t arguments_offset;
    uint64_t findings_offset;  // of a sanitized launch
    // Variables of the library: values, then a byte each that tells which differ from those that
    // the library is loaded with. Only these count: others may hold addresses of this process.
    uint64_t variables_offset;
    uint64_t num_variable_bytes;
    int32_t child;          // answer: process id
    uint32_t has_finished;  // answer: all blocks have ended, and what they changed is in the arena
    Report report;  // answer
};

// What the server is sent: this, then the path of the kernel's library.
struct Order {
    uint64_t num_control_bytes;
    uint32_t num_workers;
    uint32_t num_threads;
};

// What it answers when the launch has ended.
struct Answer {
    int32_t status;  // of waitpid; below 0: the library cannot be loaded
    char message[1024];
};

}  // namespace paged_interpret
