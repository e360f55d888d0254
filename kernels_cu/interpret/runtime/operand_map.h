// The operands of a sanitized launch by address: whose element lies where, and what surrounds them.
#pragma once

#include <cstdint>
#include <vector>

#include "control.h"
#include "regions.h"
#include "shadow.h"

namespace paged_interpret {

class OperandMap {
public:
    // Pages with one or more operands.
    struct Room {
        uint64_t begin, end;
        Shadow shadow;
    };
    struct Place {
        uint64_t run_begin, run_end;  // elements side by side, where the last access was
        uint64_t begin, end;          // from the first to the last element
        char* defined;                // tells of each byte whether it is; null: all are
        const Room* room;             // null where no operand in it is written
        const Operand* operand;
        uint32_t index;
        uint64_t run_bytes;
        std::vector<uint32_t> outer_axes;  // of such runs, the longest stride first
    };

    explicit OperandMap(const Tables& tables);

    // Whether an address is an operand's, or so near that it was meant to be.
    bool is_near(uint64_t address) const { return address - begin_ < num_bytes_; }
    // The operand with all of an access in elements of its own, null for none. Most places in the
    // code access one operand, elements of one run after another.
    const Place* find(uint64_t address, uint64_t num_bytes, const void* site) {
        Place*& latest = latest_[reinterpret_cast<uint64_t>(site) / kSiteBytes % kNumLatest];
        if (latest != nullptr && address >= latest->run_begin &&
            address + num_bytes <= latest->run_end) {
            return latest;
        }
        return search(address, num_bytes, latest);
    }
    const Place& nearest(uint64_t address) const;

private:
    // The least that lies between the calls of two accesses.
    static constexpr uint64_t kSiteBytes = 8;
    static constexpr unsigned kNumLatest = 64;

    const Place* search(uint64_t address, uint64_t num_bytes, Place*& latest);
    static bool holds(Place& place, uint64_t address, uint64_t num_bytes);

    uint64_t begin_ = 0, num_bytes_ = 0;
    std::vector<Place> places_;
    std::vector<Room> rooms_;
    Place* latest_[kNumLatest] = {};  // by place in the code
};

}  // namespace paged_interpret
