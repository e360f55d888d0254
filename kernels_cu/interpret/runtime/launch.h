// One launch: what to run, in which order, and how it ended. Laid out alike in Python's ctypes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../lane.h"
#include "report.h"

namespace paged_interpret {

struct Profile;

constexpr unsigned kMaxWritableRanges = 4;

// The library of a compiled kernel as it lies in memory.
struct Module {
    size_t tls_module;
    size_t tls_bytes;
    char* (*dynamic_shared)();  // address in the calling OS thread; null without such memory
    struct Range {
        char* begin;
        size_t num_bytes;
    } writable[kMaxWritableRanges];  // variables at namespace scope
    unsigned num_writable;
    uint64_t base;       // load address
    uint64_t num_bytes;  // from there to the end of the last segment
};

// What to run. Filled by Python.
struct Request {
    void (*entry)(void** arguments);
    void** arguments;
    const Module* module;
    uint64_t shared_bytes;
    uint32_t grid[3];
    uint32_t block[3];
    uint64_t seed;
    uint32_t is_seeded;
    uint32_t poison;  // byte
    uint32_t num_workers;
    uint32_t is_observed;  // the kernel is compiled to tell of its accesses, and they are counted
    uint32_t is_sanitized;   // so compiled, and its accesses are judged; isolated, one OS thread
    uint32_t refuses_waits;  // a block that waits for another is a failure
    Profile* profile;        // of an observed launch in place; null: it is not profiled
};

class Observation;
class Output;

struct Launch {
    Launch(const Request& what, Report& where, bool isolated);

    const Request* request;
    Report* report;
    bool is_isolated;
    uint64_t num_blocks;
    unsigned num_threads;         // of a block
    unsigned num_workers;         // OS threads
    std::vector<uint64_t> order;  // of blocks; empty: natural
    std::atomic<uint64_t> next_block{0};
    Output* output = nullptr;
    Observation* observation = nullptr;
    uint64_t deadline_ns = UINT64_MAX;  // in place: by the monotonic clock

    bool has_failed() const { return report->is_claimed.load(std::memory_order_relaxed) != 0; }
    // Ends the block of the calling lane, in place, where the launch has failed or its time is up.
    void end_if_over();
};

// Runs all blocks on this OS thread and others. The failure, if any, is in the report.
void run_grid(Launch& launch);
// Prepares the blocks of OS threads, so that a forked child finds their stacks mapped.
void reserve_blocks(unsigned num_workers, unsigned num_threads);
// Called by a signal handler where the OS thread it interrupts runs no lane: passes the signal on
// to one that does. Returns false where none does.
bool interrupt_worker(int signal);
// The launch that the calling OS thread works for.
Launch* current_launch();
void set_current_launch(Launch* launch);
uint64_t monotonic_ns();
// Processor time of the calling OS thread.
uint64_t thread_ns();
// The x-th number of a stream of random bits.
uint64_t mix(uint64_t x);

}  // namespace paged_interpret
