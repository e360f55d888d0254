// Asynchronous copies: carried out at the wait, so that data used too early is seen to be wrong.
#include <cstring>

#include "block.h"
#include "launch.h"
#include "observation.h"

namespace paged_interpret {

void async_copy(void* shared_dst, const void* global_src, int bytes, int src_bytes) {
    if (src_bytes < 0 || src_bytes > bytes) fail("cp.async: source bytes out of range");
    LaneState& lane = current_block->self();
    const Request& request = *current_block->launch().request;
    if (current_observer != nullptr) {
        current_observer->see(MemoryAccess{reinterpret_cast<uint64_t>(global_src),
                                           static_cast<uint64_t>(src_bytes), true, false,
                                           __builtin_return_address(0)});
    }
    std::memset(shared_dst, static_cast<int>(request.poison), static_cast<size_t>(bytes));
    lane.copies.push_back(AsyncCopy{shared_dst, global_src, static_cast<unsigned>(bytes),
                                    static_cast<unsigned>(src_bytes), lane.num_groups});
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
        std::memcpy(destination, copy.source, copy.num_source_bytes);
        std::memset(destination + copy.num_source_bytes, 0,
                    copy.num_bytes - copy.num_source_bytes);
    }
    lane.copies.erase(lane.copies.begin(), lane.copies.begin() + static_cast<std::ptrdiff_t>(i));
}

}  // namespace paged_interpret
