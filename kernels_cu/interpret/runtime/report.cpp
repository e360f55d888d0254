// Filling the report of a launch that fails.
#include "report.h"

#include <execinfo.h>
#include <sched.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "../device.h"
#include "block.h"
#include "findings.h"
#include "launch.h"
#include "signals.h"

namespace paged_interpret {

namespace {

__thread Launch* current_launch_ __attribute__((tls_model("initial-exec")));

}  // namespace

void set_current_launch(Launch* launch) { current_launch_ = launch; }
Launch* current_launch() { return current_launch_; }

bool claim_report(Report& report) {
    int32_t free = 0;
    if (!report.is_claimed.compare_exchange_strong(free, kFilling)) return false;
    const uint3& block = geometry.block_index;
    const uint32_t place[3] = {block.x, block.y, block.z};
    std::memcpy(report.block, place, sizeof place);
    if (current_lane != nullptr) {
        const uint3& thread = current_lane->thread;
        const uint32_t index[3] = {thread.x, thread.y, thread.z};
        std::memcpy(report.thread, index, sizeof index);
        report.has_lane = 1;
    }
    return true;
}

void record_frame(Report& report, uint64_t address) {
    const Module& module = *current_launch_->request->module;
    if (address - module.base >= module.num_bytes || report.num_frames == kMaxFrames) return;
    report.frames[report.num_frames++] = address - module.base;
}

void record_callers(Report& report) {
    if (current_lane == nullptr) return;
    void* frames[kMaxFrames];
    const int count = backtrace(frames, kMaxFrames);
    // A return address may be the next line's: the call ends one byte before.
    for (int i = 0; i < count; ++i) {
        record_frame(report, reinterpret_cast<uint64_t>(frames[i]) - 1);
    }
}

unsigned record_calls(uint64_t frame, uint64_t* frames) {
    const Module& module = *current_launch_->request->module;
    void* addresses[kMaxFrames];
    const int count = backtrace(addresses, kMaxFrames);
    unsigned num_frames = 0;
    frames[num_frames++] = frame;
    for (int i = 0; i < count && num_frames < kMaxFindingFrames; ++i) {
        const uint64_t offset = reinterpret_cast<uint64_t>(addresses[i]) - 1 - module.base;
        if (offset < module.num_bytes && offset != frame) frames[num_frames++] = offset;
    }
    return num_frames;
}

static void record_arguments(Site site, const char* format, va_list arguments) {
    Report& report = *current_launch_->report;
    if (!claim_report(report)) return;
    report.failure = Failure::message;
    vsnprintf(report.text, sizeof report.text, format, arguments);
    if (site.file == nullptr) {
        record_callers(report);
    } else {
        report.line = site.line;
        report.column = site.column;
        snprintf(report.file, sizeof report.file, "%s", site.file);
    }
    report.is_claimed.store(kFilled);
}

void record_failure(Site site, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record_arguments(site, format, arguments);
    va_end(arguments);
}

void fail_format(Site site, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record_arguments(site, format, arguments);
    va_end(arguments);
    end_launch();
}

void fail_at(const char* message, Site site) { fail_format(site, "%s", message); }

void fail(const char* message) { fail_format(Site{nullptr, 0}, "%s", message); }

void fail_assertion(const char* condition, const char* function, Site site) {
    fail_format(site, "assertion `%s` failed in %s", condition, function);
}

void end_launch() {
    if (current_launch_->is_isolated) {
        // careful: the process must not end while another thread says what went wrong
        while (current_launch_->report->is_claimed.load() == kFilling) sched_yield();
        _exit(kFailedStatus);
    }
    current_block->abandon();
}

}  // namespace paged_interpret
