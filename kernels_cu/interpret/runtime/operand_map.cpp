// Finding the operand of an address.
#include "operand_map.h"

#include <algorithm>

#include "observation.h"

namespace paged_interpret {

namespace {

constexpr uint64_t kNearBytes = uint64_t{1} << 20;  // the least of what surrounds a region

bool is_dense(const Operand& operand) {
    uint64_t num_bytes = operand.element_bytes;
    for (uint32_t axis = 0; axis < operand.num_axes; ++axis) num_bytes *= operand.sizes[axis];
    return num_bytes == operand.num_bytes;
}

bool overlap(const OperandMap::Place& a, const OperandMap::Place& b) {
    return a.begin < b.end && b.begin < a.end;
}

uint64_t distance(const OperandMap::Place& place, uint64_t address) {
    if (address < place.begin) return place.begin - address;
    return address < place.end ? 0 : address - place.end + 1;
}

}  // namespace

OperandMap::OperandMap(const Tables& tables) {
    const Control& control = *tables.control;
    uint64_t begin = ~uint64_t{0}, end = 0;
    for (uint32_t i = 0; i < control.num_regions; ++i) {
        const Region& region = tables.regions[i];
        const uint64_t first = region.mapped - region.lead_bytes;
        const bool is_written = region.is_written != 0;
        rooms_.push_back(Room{first, first + region.num_room_bytes,
                              is_written ? Shadow(region.num_room_bytes) : Shadow()});
        begin = std::min(begin, rooms_[i].begin);
        end = std::max(end, rooms_[i].end);
    }
    if (begin < end) {
        begin_ = begin - kNearBytes;
        num_bytes_ = end + kNearBytes - begin_;
    }
    for (uint32_t i = 0; i < control.num_operands; ++i) {
        const Operand& operand = tables.operands[i];
        const uint64_t first = tables.regions[operand.region].mapped + operand.address;
        char* defined = operand.has_defined != 0 ? tables.base + operand.defined_offset : nullptr;
        const bool is_written = tables.regions[operand.region].is_written != 0;
        places_.push_back(Place{first, first + operand.num_bytes, &operand, i, is_dense(operand),
                                defined, is_written ? &rooms_[operand.region] : nullptr,
                                strided_axes(operand)});
    }
    for (Place& one : places_) {
        for (const Place& other : places_) {
            if (&one != &other && overlap(one, other)) one.is_dense = false;
        }
    }
}

bool OperandMap::holds(const Place& place, uint64_t address, uint64_t num_bytes) {
    if (address < place.begin || address + num_bytes > place.end) return false;
    if (place.is_dense) return true;
    const uint64_t offset = address - place.begin;
    return has_element(*place.operand, place.axes, offset) &&
           (num_bytes <= 1 || has_element(*place.operand, place.axes, offset + num_bytes - 1));
}

const OperandMap::Place* OperandMap::search(uint64_t address, uint64_t num_bytes) {
    if (latest_ != nullptr && holds(*latest_, address, num_bytes)) return latest_;
    for (const Place& place : places_) {
        if (holds(place, address, num_bytes)) return latest_ = &place;
    }
    return nullptr;
}

const OperandMap::Place& OperandMap::nearest(uint64_t address) const {
    return *std::min_element(places_.begin(), places_.end(),
                             [address](const Place& a, const Place& b) {
                                 return distance(a, address) < distance(b, address);
                             });
}

}  // namespace paged_interpret
