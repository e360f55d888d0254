// Which operand an access belongs to, and what is counted of it.
#include "observation.h"

#include <algorithm>

namespace paged_interpret {

__thread Observer* current_observer = nullptr;

namespace {

// The most that one instruction of a lane moves.
constexpr uint64_t kMaxInstructionBytes = 16;
constexpr uint64_t kSiteFactor = 0x9e3779b97f4a7c15u;

Observation::Watched watch(const Operand& operand, uint32_t index, const Region* regions) {
    Observation::Watched watched{};
    watched.operand = &operand;
    watched.index = index;
    watched.is_alone = true;
    watched.begin = operand.address + (regions == nullptr ? 0 : regions[operand.region].mapped);
    watched.end = watched.begin + operand.num_bytes;
    for (uint32_t axis = 0; axis < operand.num_axes; ++axis) {
        if (operand.strides[axis] > 0) watched.axes[watched.num_axes++] = axis;
    }
    std::sort(watched.axes, watched.axes + watched.num_axes, [&operand](uint32_t a, uint32_t b) {
        return operand.strides[a] > operand.strides[b];
    });
    return watched;
}

// Whether an element lies at an address between the first and the last.
bool has_element(const Observation::Watched& watched, uint64_t address) {
    const Operand& operand = *watched.operand;
    uint64_t offset = address - watched.begin;
    for (uint32_t i = 0; i < watched.num_axes; ++i) {
        const uint32_t axis = watched.axes[i];
        const uint64_t step = static_cast<uint64_t>(operand.strides[axis]) * operand.element_bytes;
        if (offset / step >= static_cast<uint64_t>(operand.sizes[axis])) return false;
        offset %= step;
    }
    return offset < operand.element_bytes;
}

bool holds(const Observation::Watched& watched, uint64_t address) {
    if (address < watched.begin || address >= watched.end) return false;
    return watched.is_alone || has_element(watched, address);
}

}  // namespace

Observation::Observation(Operand* operands, uint32_t num_operands, const Region* regions)
    : operands_(operands), num_operands_(num_operands), begin_(~uint64_t{0}), num_bytes_(0) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < num_operands; ++i) {
        watched_.push_back(watch(operands[i], i, regions));
        begin_ = std::min(begin_, watched_[i].begin);
        end = std::max(end, watched_[i].end);
    }
    if (num_operands > 0) num_bytes_ = end - begin_;
    for (Watched& one : watched_) {
        for (const Watched& other : watched_) {
            const bool overlap = one.begin < other.end && other.begin < one.end;
            if (&one != &other && overlap) one.is_alone = false;
        }
    }
}

const Observation::Watched* Observation::find(uint64_t address) const {
    for (const Watched& watched : watched_) {
        if (holds(watched, address)) return &watched;
    }
    return nullptr;
}

void Observation::add(const std::vector<Counts>& counts) {
    for (uint32_t i = 0; i < num_operands_; ++i) {
        Counts& total = operands_[i].counts;
        total.num_reads += counts[i].num_reads;
        total.num_writes += counts[i].num_writes;
        total.read_bytes += counts[i].read_bytes;
        total.write_bytes += counts[i].write_bytes;
        total.read_sector_bytes += counts[i].read_sector_bytes;
        total.write_sector_bytes += counts[i].write_sector_bytes;
    }
}

Observer::Observer(const Observation& observation)
    : observation_(observation), warps_(kMaxWarps), counts_(observation.num_operands()) {}

void Observer::see(const MemoryAccess& access) {
    const uint64_t place = reinterpret_cast<uint64_t>(access.place);
    uint64_t site = (current_block->self().path.hash ^ place) * kSiteFactor;
    MemoryAccess part = access;
    do {
        part.num_bytes = std::min(access.address + access.num_bytes - part.address,
                                  kMaxInstructionBytes);
        see_part(part, site);
        part.address += kMaxInstructionBytes;
        ++site;
    } while (part.address < access.address + access.num_bytes);
}

void Observer::see_part(const MemoryAccess& access, uint64_t site) {
    const LaneState& lane = current_block->self();
    uint32_t operand = 0;
    if (access.num_bytes > 0) {
        if (latest_ == nullptr || !holds(*latest_, access.address)) {
            latest_ = observation_.find(access.address);
        }
        if (latest_ == nullptr) return;
        operand = latest_->index;
        Counts& counts = counts_[operand];
        counts.num_reads += access.is_read;
        counts.num_writes += access.is_write;
        counts.read_bytes += access.is_read ? access.num_bytes : 0;
        counts.write_bytes += access.is_write ? access.num_bytes : 0;
    }
    warps_[lane.warp_index].add(LaneAccess{site, lane.lane_index, operand, access.address,
                                           static_cast<uint32_t>(access.num_bytes), access.is_read,
                                           access.is_write});
}

void Observer::meet_all(unsigned num_warps) {
    for (unsigned warp = 0; warp < num_warps; ++warp) meet(warp);
}

}  // namespace paged_interpret
