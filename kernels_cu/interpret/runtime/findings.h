// What a sanitized launch finds, as data. Lies in memory shared with the caller's process, and is
// laid out alike in Python's ctypes.
#pragma once

#include <cstdint>

namespace paged_interpret {

enum class FindingKind : uint32_t {
    none = 0,
    out_of_bounds = 1,
    write_to_input = 2,
    undefined_read = 3,
    race = 4,
    copy_in_flight = 5,
};

enum class Space : uint32_t { operand = 0, static_shared = 1, dynamic_shared = 2 };

constexpr unsigned kMaxFindings = 32;
constexpr unsigned kMaxFindingFrames = 12;

// A thread of the grid, by linear indices.
struct Actor {
    uint32_t block;
    uint32_t thread;
};

struct Finding {
    FindingKind kind;
    Space space;
    uint32_t operand;    // index, in the space of operands
    uint32_t num_bytes;  // of the access
    int64_t offset;      // in bytes, from the operand's first element or the space's begin
    uint32_t is_write;
    uint32_t has_other;  // an earlier access that this one conflicts with
    uint32_t is_other_write;
    uint32_t num_frames;
    Actor actor;
    Actor other;
    uint64_t frames[kMaxFindingFrames];  // from the library's load address, the innermost first
    uint64_t other_frame;                // likewise
};

// One for each kind and place in the code; what finds no room is counted.
struct Findings {
    uint32_t num_findings;
    uint32_t num_left_out;
    Finding found[kMaxFindings];
};

}  // namespace paged_interpret
