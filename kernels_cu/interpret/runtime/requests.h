// Requests of a warp: what its lanes access by one instruction at one time, and what that costs.
//
// Lanes run one after another here, so a request is put together afterwards. The n-th time that a
// lane comes to a site belongs with the n-th time that the others do, counted from when they last
// met: at a barrier or a collective of all lanes, where requests are settled. A request costs each
// sector of 32 bytes that it touches once, as it does between L1 and L2. Hits in L1 are not modelled.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../lane.h"
#include "control.h"

namespace paged_interpret {

constexpr uint64_t kSectorBytes = 32;

// One lane's part of a request.
struct LaneAccess {
    uint64_t site;  // tells an instruction, with the calls that lead to it, from others
    unsigned lane;
    uint32_t operand;
    uint64_t address;
    uint32_t num_bytes;  // 0: an instruction that moves nothing
    bool is_read;
    bool is_write;  // both: an atomic operation
};

class WarpRequests {
public:
    void add(const LaneAccess& access);
    // Ends all requests, and adds the bytes of their sectors to the operands' counts.
    void settle(Counts* counts);

private:
    // Sectors of one operand in a window of memory with a bit for each.
    struct Sectors {
        uint64_t window;
        uint32_t operand;
        uint32_t mask;
        uint32_t next;  // of the same request
    };
    struct Site {
        uint64_t key;
        uint32_t successor;  // the site that a lane came to next
        bool is_read, is_write;
        uint32_t num_executions[kWarpSize];  // by lane
        std::vector<uint32_t> requests;      // first sectors of each
    };

    Site& find(uint64_t key);
    void touch(uint32_t& first, uint64_t window, uint32_t operand, uint32_t mask);

    std::vector<Site> sites_;
    std::unordered_map<uint64_t, uint32_t> index_;
    std::vector<uint32_t> open_;  // sites with requests
    std::vector<Sectors> sectors_;
    uint32_t last_ = 0;  // site
};

}  // namespace paged_interpret
