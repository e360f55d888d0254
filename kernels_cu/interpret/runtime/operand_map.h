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
        uint64_t begin, end;  // from the first to the last element
        const Operand* operand;
        uint32_t index;
        bool is_dense;       // every byte between is an element's, and no other operand's
        char* defined;       // tells of each byte whether it is; null: all are
        const Room* room;    // null where no operand in it is written
        std::vector<uint32_t> axes;
    };

    explicit OperandMap(const Tables& tables);

    // Whether an address is an operand's, or so near that it was meant to be.
    bool is_near(uint64_t address) const { return address - begin_ < num_bytes_; }
    // The operand with all of an access in elements of its own, null for none.
    const Place* find(uint64_t address, uint64_t num_bytes) {
        const Place* latest = latest_;
        if (latest != nullptr && latest->is_dense && address >= latest->begin &&
            address + num_bytes <= latest->end) {
            return latest;
        }
        return search(address, num_bytes);
    }
    const Place& nearest(uint64_t address) const;

private:
    const Place* search(uint64_t address, uint64_t num_bytes);
    static bool holds(const Place& place, uint64_t address, uint64_t num_bytes);

    uint64_t begin_ = 0, num_bytes_ = 0;
    std::vector<Place> places_;
    std::vector<Room> rooms_;
    const Place* latest_ = nullptr;
};

}  // namespace paged_interpret
