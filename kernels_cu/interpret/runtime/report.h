// How a launch ended, or failed. Lies in memory shared with the parent process of an isolated launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../lane.h"

namespace paged_interpret {

enum class Failure : int32_t {
    none = 0,
    message = 1,   // `text` says all
    fault = 2,     // a signal: `signal`, `address`, `access`
    overflow = 3,  // the stack of a lane
    stopped = 4,   // by the caller, since time was up
    stray_write = 5,  // found after the end: `address`
};

enum class Access : int32_t { unknown = 0, read = 1, write = 2 };

constexpr unsigned kMaxFrames = 24;
constexpr size_t kMaxFileBytes = 512;
constexpr size_t kMaxTextBytes = 4096;

// Of `is_claimed`: a thread fills the report in, or has done so with a message.
constexpr int32_t kFilling = 1;
constexpr int32_t kFilled = 2;

struct Report {
    std::atomic<int32_t> is_claimed;  // by the OS thread that failed first
    Failure failure;
    int32_t signal;
    Access access;
    uint64_t address;
    uint32_t has_lane;
    uint32_t has_address;
    uint32_t block[3];
    uint32_t thread[3];
    uint32_t num_frames;
    int32_t line;    // 0: not known, see frames
    int32_t column;  // likewise
    uint64_t frames[kMaxFrames];  // from the library's load address, the innermost first
    char file[kMaxFileBytes];
    char text[kMaxTextBytes];
    std::atomic<uint64_t> processor_ns;  // of all OS threads, while they ran blocks
};

// Claims the report for the calling OS thread and notes its block and thread. Returns false where
// another claimed it before.
bool claim_report(Report& report);
// Adds an address, or those of the calls that led here, where they are the kernel library's.
void record_frame(Report& report, uint64_t address);
void record_callers(Report& report);
// Writes a frame of the kernel's library and those of the calls that led to it, at most
// kMaxFindingFrames; returns how many.
unsigned record_calls(uint64_t frame, uint64_t* frames);
// Claims the report with a message of printf's form; does not end anything.
void record_failure(Site site, const char* format, ...) __attribute__((format(printf, 2, 3)));
// Ends a launch that has failed: the process where it is isolated, else the calling lane's block.
[[noreturn]] void end_launch();
// Both.
[[noreturn]] void fail_format(Site site, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

}  // namespace paged_interpret
