// One block of a grid: its lanes as fibers of one OS thread, and who runs next.
//
// The lanes of one warp run until each of them waits or has ended, then the next warp's: warp by
// warp, so that a warp collective costs one switch a lane. A lane that waits picks its successor
// and switches to it directly. Lanes start as late as possible, on the stack that the last ended
// lane left, so that a kernel without barriers needs a single stack.
#pragma once

#include <cstdint>
#include <vector>

#include "../collective.h"
#include "call_path.h"
#include "fiber.h"

namespace paged_interpret {

struct Launch;

constexpr unsigned kMaxBlockThreads = 1024;
constexpr unsigned kMaxWarps = kMaxBlockThreads / kWarpSize;
constexpr unsigned kAtomicsPerYield = 64;

enum class Phase : uint8_t {
    unstarted,
    running,  // or ready to run
    at_collective,
    at_warp_barrier,
    at_active_mask,
    at_block_barrier,
    yielded,
    ended,
};

struct AsyncCopy {
    void* destination;
    const void* source;
    unsigned num_bytes;
    unsigned num_source_bytes;
    unsigned group;
    const void* place;  // in the kernel's code
};

struct Warp;

// What a switch between lanes touches comes first, and lies in one line of the cache.
struct alignas(64) LaneState : Lane {
    Phase phase;  // of a lane that its warp has ready: how it waited before
    void* stack_pointer;
    Warp* warp;
    Site site;           // where it waits
    unsigned mask;       // for whom it waits
    unsigned answer;     // to the active mask it asked for
    Stack* stack;
    unsigned num_groups; // of asynchronous copies, committed
    std::vector<AsyncCopy> copies;
    CallPath path;  // where accesses are observed
};

// Lanes that meet: one open collective of a warp.
struct Meeting {
    unsigned mask;
    unsigned arrived;
    const void* kind;
    Site site;
};

struct Warp {
    unsigned ready;
    unsigned yielded;
    unsigned asking;  // for the active mask
    unsigned awaited; // those that gave way, and have another turn before an answer
    unsigned ended;
    unsigned present;  // lanes the block has
    unsigned num_meetings;
    LaneState* natural_lanes;  // its lanes, where they run in natural order, else null
    Meeting meetings[kWarpSize];
    Deposit* deposits[kWarpSize];  // of the collectives that lanes wait in

    // The lane that runs next where that can be told at once: one that has run before; else null.
    LaneState* next() const {
        if (natural_lanes == nullptr || ready == 0) return nullptr;
        LaneState& lane = natural_lanes[__builtin_ctz(ready)];
        return lane.phase == Phase::unstarted ? nullptr : &lane;
    }
};

class Block {
public:
    // Runs block number `index` of a launch to its end on the calling OS thread.
    void run(Launch& launch, uint64_t index);
    void reserve(unsigned num_threads) { stacks_.reserve(num_threads); }

    LaneState& self() const { return *static_cast<LaneState*>(current_lane); }
    Warp& warp() const { return *self().warp; }
    LaneState& lane(unsigned warp, unsigned lane) { return lanes_[warp * kWarpSize + lane]; }

    // Waits in this phase until another lane makes the caller ready.
    void wait(Phase phase, Site site, unsigned mask);
    // Lets the first of the ready lanes, perhaps the caller, run: orders stay natural.
    void give_way();
    void wake(Warp& warp, unsigned lanes) { warp.ready |= lanes; }
    void wake_all();
    // Tells an observer that all lanes that have not ended have met, of a warp or of the block.
    void observe_meeting(const Warp& warp, unsigned lanes) const;
    void observe_barrier() const;
    // Tells a sanitizer that lanes have met at a barrier of their warp.
    void sanitize_warp_barrier(const Warp& warp, unsigned lanes) const;
    // Leaves the block without ending its lanes. Called on a lane's stack.
    [[noreturn]] void abandon();
    // Who waits where, one line a group of lanes.
    void describe_lanes(char* text, size_t capacity);

    Launch& launch() const { return *launch_; }
    unsigned num_threads() const { return num_threads_; }

    struct Barrier {
        unsigned num_arrived;
        Site site;
        unsigned first_arrived;  // a thread, for messages
        unsigned phase;          // its lowest bit says which total is collected
        int totals[2];
    };
    Barrier barrier;
    unsigned num_ended;
    unsigned atomics_left;

private:
    static void run_lanes();
    void set_up(Launch& launch, uint64_t index);
    void set_up_lanes();
    void end_lane();
    void leave_meetings(Warp& warp, const LaneState& ended);
    void check_barrier_after_end();
    LaneState* pick();
    LaneState& first_ready(Warp& warp, unsigned warp_index);
    bool answer_askers(Warp& warp, unsigned warp_index);
    bool await_yielded(Warp& warp);
    bool wake_yielded();
    void refuse_endless_waits();
    [[noreturn]] void leave();
    void resume(LaneState& from, LaneState& to);
    [[noreturn]] void report_deadlock();

    Launch* launch_;
    unsigned num_threads_;
    unsigned num_warps_;
    unsigned turn_;  // position in warp_order_
    bool natural_;
    mutable unsigned num_idle_rounds_;  // in which lanes only gave way, since one got on
    uint64_t idle_since_ns_;
    unsigned lane_order_[kWarpSize];
    unsigned warp_order_[kMaxWarps];
    Warp warps_[kMaxWarps];
    std::vector<LaneState> lanes_;
    StackPool stacks_;
    void* base_;  // stack pointer of run()
};

inline bool same_site(const Site& a, const Site& b) {
    return a.line == b.line && (a.file == b.file || __builtin_strcmp(a.file, b.file) == 0);
}

// Goes on with another lane of the block, until one goes on with this.
inline void switch_lanes(LaneState& from, LaneState& to) {
    current_lane = &to;
    paged_switch(&from.stack_pointer, to.stack_pointer);
}

// Begins the count of the calling OS thread's steps anew: turns are a block's own.
void begin_turn();

// The block that the calling OS thread runs, or null.
extern __thread Block* current_block __attribute__((tls_model("initial-exec")));

}  // namespace paged_interpret
