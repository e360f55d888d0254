// What each instruction of a kernel does, counted by its place in the code: requests of warps, sectors
// of global memory, wavefronts of shared memory, and bytes that asynchronous copies keep in flight.
//
// Lanes run one after another, so requests are put together as in requests.h: the n-th time that a
// lane comes to a site belongs with the n-th time of the others, counted from when they last met.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <tuple>
#include <vector>

#include "../lane.h"

namespace paged_interpret {

struct MemoryAccess;

enum class ProfileKind : uint32_t {
    global_read,
    global_write,
    global_atomic,
    shared_read,
    shared_write,
    shared_atomic,
    collective,  // barriers too
};

// One instruction. Laid out alike in Python's ctypes.
struct ProfileLine {
    uint64_t place;  // an address in the kernel's code
    const char* file;  // of a collective, and the line that its caller tells; else null
    uint32_t line;
    ProfileKind kind;
    uint64_t num_requests;
    uint64_t num_lanes;  // of all requests
    uint64_t num_bytes;
    uint64_t num_sectors;       // of global memory
    uint64_t num_wavefronts;    // of shared memory: what its banks serve one after another
    uint64_t least_wavefronts;  // without a bank conflict
};

// Where a launch puts its profile. Laid out alike in Python's ctypes.
struct Profile {
    ProfileLine* lines;
    uint64_t capacity;
    uint64_t num_lines;           // that there are, perhaps more than fit
    uint64_t most_bytes_in_flight;  // of asynchronous copies, in one block
};

// Profiles the blocks that one OS thread runs.
class Profiler {
public:
    // Of an access by the current lane, and whether it is to an operand.
    void see(const MemoryAccess& access, uint64_t site, bool is_global);
    // Between the two the current lane, the last to come, does the work of all lanes.
    void begin_collective(const void* place, Site site, unsigned lanes);
    void end_collective();
    // Bytes that the current lane's copies have yet to bring.
    void note_in_flight(uint64_t num_bytes);
    void settle(unsigned warp_index);
    void settle_all();
    void add_to(Profile& profile);

private:
    struct Part {
        uint64_t address;
        uint32_t num_bytes;
        unsigned lane;
    };
    struct Requests {
        const void* place;
        ProfileKind kind;
        uint32_t num_made[kWarpSize];  // by lane
        std::vector<std::vector<Part>> parts;  // by request
    };

    // A collective that is being carried out, and the shared memory that it has read.
    struct Window {
        ProfileLine* line;
        std::vector<Part> rows;
    };

    ProfileLine& line_of(const void* place, Site site, ProfileKind kind);
    void end_block();

    std::unordered_map<unsigned, std::unordered_map<uint64_t, Requests>> warps_;
    std::map<std::tuple<const void*, const char*, int, ProfileKind>, ProfileLine> lines_;
    std::unordered_map<const Lane*, Window> windows_;  // by lane: each may give way in its own
    uint64_t block_ = ~uint64_t{0};      // whose copies are in flight
    std::vector<uint64_t> peak_bytes_;   // of each lane of the block
    uint64_t most_bytes_in_flight_ = 0;
};

}  // namespace paged_interpret
