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

// The requests stand in a list, where those of one site are in the order of its executions. Most
// lanes do what the first did: they keep step with the list, and need no search. A lane that comes
// to another site than the list is out of step, and finds its requests by site, till all meet.
class WarpRequests {
public:
    WarpRequests() { settle_lanes(); }
    void add(const LaneAccess& access);
    // Ends all requests, and adds the bytes of their sectors to the operands' counts.
    void settle(Counts* counts);

private:
    // Sectors of one operand in a window of memory that has a bit for each.
    struct Sectors {
        uint64_t window;
        uint32_t operand;
        uint32_t mask;
        uint32_t next;  // of the same request, in more_
    };
    struct Request {
        uint64_t site;
        Sectors sectors;
        bool is_read, is_write;
    };
    // For lanes out of step: a site's requests, and how many of them each lane is past.
    struct Site {
        std::vector<uint32_t> requests;
        uint32_t num_past[kWarpSize];
        unsigned known;  // lanes for which that is told
    };

    Request& request_of(const LaneAccess& access);
    Request& request_out_of_step(const LaneAccess& access);
    uint32_t append(const LaneAccess& access);
    void index_sites();
    void touch(Sectors& first, const Sectors& touched);
    void settle_lanes();

    std::vector<Request> requests_;
    std::vector<Sectors> more_;
    uint32_t num_in_step_[kWarpSize];  // by lane: requests of the list that it has made
    unsigned out_of_step_;             // lanes
    bool is_indexed_;
    std::unordered_map<uint64_t, Site> sites_;
};

}  // namespace paged_interpret
