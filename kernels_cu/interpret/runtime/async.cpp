// Asynchronous copies: carried out at the wait, so that data used too early is seen to be wrong.
#include <cstring>

#include "block.h"
#include "launch.h"
#include "observation.h"
#include "sanitizer.h"

namespace paged_interpret {

namespace {

MemoryAccess access_of(const void* address, unsigned num_bytes, bool is_write, const void* place) {
    return MemoryAccess{reinterpret_cast<uint64_t>(address), num_bytes, !is_write, is_write, place};
}

}  // namespace

void async_copy(void* shared_dst, const void* global_src, int bytes, int src_bytes) {
    if (src_bytes < 0 || src_bytes > bytes) fail("cp.async: source bytes out of range");
    LaneState& lane = current_block->self();
    const Request& request = *current_block->launch().request;
    const void* place = __builtin_return_address(0);
    const auto num_bytes = static_cast<unsigned>(bytes);
    const auto num_source_bytes = static_cast<unsigned>(src_bytes);
    const MemoryAccess source = access_of(global_src, num_source_bytes, false, place);
    if (current_observer != nullptr) current_observer->see(source);
    if (current_sanitizer != nullptr) {
        if (src_bytes > 0) current_sanitizer->see(source);
        current_sanitizer->begin_copy(access_of(shared_dst, num_bytes, true, place));
    }
    std::memset(shared_dst, static_cast<int>(request.poison), static_cast<size_t>(bytes));
    lane.copies.push_back(
        AsyncCopy{shared_dst, global_src, num_bytes, num_source_bytes, lane.num_groups, place});
    if (Profiler* profiler = current_profiler()) {
        uint64_t in_flight = 0;
        for (const AsyncCopy& copy : lane.copies) in_flight += copy.num_source_bytes;
        profiler->note_in_flight(in_flight);
    }
}

void async_commit() { ++current_block->self().num_groups; }

void async_wait(int groups_left) {
    LaneState& lane = current_block->self();
    const unsigned kept = static_cast<unsigned>(groups_left);
    const unsigned num_done = lane.num_groups > kept ? lane.num_groups - kept : 0;
    size_t i = 0;
    for (; i < lane.copies.size() && lane.copies[i].group < num_done; ++i) {
        const AsyncCopy& copy = lane.copies[i];
        auto* destination = static_cast<char*>(copy.destination);
        if (current_sanitizer != nullptr) {
            current_sanitizer->end_copy(
                access_of(destination, copy.num_bytes, true, copy.place));
        }
        std::memcpy(destination, copy.source, copy.num_source_bytes);
        std::memset(destination + copy.num_source_bytes, 0,
                    copy.num_bytes - copy.num_source_bytes);
    }
    lane.copies.erase(lane.copies.begin(), lane.copies.begin() + static_cast<std::ptrdiff_t>(i));
}

}  // namespace paged_interpret
