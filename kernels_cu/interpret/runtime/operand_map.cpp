// Finding the operand of an address.
#include "operand_map.h"

#include <algorithm>

#include "observation.h"

namespace paged_interpret {

namespace {

constexpr uint64_t kNearBytes = uint64_t{1} << 20;  // the least of what surrounds a region

uint64_t step_of(const Operand& operand, uint32_t axis) {
    return static_cast<uint64_t>(operand.strides[axis]) * operand.element_bytes;
}

// Takes the axes along which elements lie side by side off the end; returns the bytes of a run.
uint64_t take_run(const Operand& operand, std::vector<uint32_t>& axes) {
    uint64_t num_bytes = operand.element_bytes;
    while (!axes.empty() && step_of(operand, axes.back()) == num_bytes) {
        num_bytes *= static_cast<uint64_t>(operand.sizes[axes.back()]);
        axes.pop_back();
    }
    return num_bytes;
}

// Where the run begins that has a byte so far behind the first element's; -1 for none.
int64_t run_around(const OperandMap::Place& place, uint64_t offset) {
    uint64_t left = offset;
    for (const uint32_t axis : place.outer_axes) {
        const uint64_t step = step_of(*place.operand, axis);
        if (left / step >= static_cast<uint64_t>(place.operand->sizes[axis])) return -1;
        left %= step;
    }
    return left < place.run_bytes ? static_cast<int64_t>(offset - left) : -1;
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
        std::vector<uint32_t> axes = strided_axes(operand);
        const uint64_t run_bytes = take_run(operand, axes);
        places_.push_back(Place{0, 0, first, first + operand.num_bytes, defined,
                                is_written ? &rooms_[operand.region] : nullptr, &operand, i,
                                run_bytes, axes});
    }
}

bool OperandMap::holds(Place& place, uint64_t address, uint64_t num_bytes) {
    if (address < place.begin || address + num_bytes > place.end) return false;
    const uint64_t offset = address - place.begin;
    const int64_t run = run_around(place, offset);
    if (run < 0 || (num_bytes > 1 && run_around(place, offset + num_bytes - 1) < 0)) return false;
    place.run_begin = place.begin + static_cast<uint64_t>(run);
    place.run_end = place.run_begin + place.run_bytes;
    return true;
}

const OperandMap::Place* OperandMap::search(uint64_t address, uint64_t num_bytes, Place*& latest) {
    if (latest != nullptr && holds(*latest, address, num_bytes)) return latest;
    for (Place& place : places_) {
        if (holds(place, address, num_bytes)) return latest = &place;
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
