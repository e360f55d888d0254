// What device code sees of the thread it runs as: its indices, and the place of a call.
//
// One CUDA thread is a fiber, called a lane here whatever its warp; all lanes of a block run on one
// OS thread. `current_lane` changes at every switch, so it is read through memory after each call
// into the runtime; its own address never changes within an OS thread.
#pragma once

#include "include/vector_types.h"

namespace paged_interpret {

constexpr unsigned kWarpSize = 32;
constexpr unsigned kFullMask = 0xffffffffu;

// Source position of a call. As a default argument, `Site site = Site::here()` is the caller's.
struct Site {
    const char* file;
    int line;
    int column;  // in bytes, from 1; 0 where it is not known

    static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return Site{file, line, 0};
    }
};

struct Lane {
    uint3 thread;         // threadIdx
    unsigned lane_index;  // 0..31 within the warp
    unsigned warp_index;  // within the block
};

// The same for all lanes of a block.
struct Geometry {
    uint3 block_index;
    dim3 block_size;
    dim3 grid_size;
};

#pragma GCC visibility push(default)
extern __thread Lane* current_lane __attribute__((tls_model("initial-exec")));
extern __thread Geometry geometry __attribute__((tls_model("initial-exec")));
#pragma GCC visibility pop

inline unsigned lane_index() { return current_lane->lane_index; }

}  // namespace paged_interpret

#define threadIdx (::paged_interpret::current_lane->thread)
#define blockIdx (::paged_interpret::geometry.block_index)
#define blockDim (::paged_interpret::geometry.block_size)
#define gridDim (::paged_interpret::geometry.grid_size)
