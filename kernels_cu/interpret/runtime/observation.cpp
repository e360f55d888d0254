// Which operand an access belongs to, and what is counted of it.
#include "observation.h"

#include <algorithm>

namespace paged_interpret {

__thread Observer* current_observer = nullptr;
__thread ObservedRange observed_range = {0, 0};

void set_current_observer(Observer* observer) {
    current_observer = observer;
    observed_range = observer == nullptr ? ObservedRange{0, 0} : observer->range();
}

namespace {

// The most that one instruction of a lane moves.
constexpr uint64_t kMaxInstructionBytes = 16;
constexpr uint64_t kSiteFactor = 0x9e3779b97f4a7c15u;

}  // namespace

std::vector<uint32_t> strided_axes(const Operand& operand) {
    std::vector<uint32_t> axes;
    for (uint32_t axis = 0; axis < operand.num_axes; ++axis) {
        if (operand.strides[axis] > 0 && operand.sizes[axis] > 1) axes.push_back(axis);
    }
    std::sort(axes.begin(), axes.end(), [&operand](uint32_t a, uint32_t b) {
        return operand.strides[a] > operand.strides[b];
    });
    return axes;
}

bool has_element(const Operand& operand, const std::vector<uint32_t>& axes, uint64_t offset) {
    for (const uint32_t axis : axes) {
        const uint64_t step = static_cast<uint64_t>(operand.strides[axis]) * operand.element_bytes;
        if (offset / step >= static_cast<uint64_t>(operand.sizes[axis])) return false;
        offset %= step;
    }
    return offset < operand.element_bytes;
}

Observation::Observation(Operand* operands, uint32_t num_operands, const Region* regions)
    : operands_(operands), num_operands_(num_operands), range_{0, 0} {
    uint64_t begin = ~uint64_t{0}, end = 0;
    for (uint32_t i = 0; i < num_operands; ++i) {
        const uint64_t region = regions == nullptr ? 0 : regions[operands[i].region].mapped;
        const uint64_t first = region + operands[i].address;
        const uint64_t shift = operands[i].origin - first;
        watched_.push_back(Watched{first, first + operands[i].num_bytes, shift, i, true});
        axes_.push_back(strided_axes(operands[i]));
        if (operands[i].num_bytes == 0) continue;
        begin = std::min(begin, watched_[i].begin);
        end = std::max(end, watched_[i].end);
    }
    if (begin < end) range_ = ObservedRange{begin, end - begin};
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

Observer::Observer(const Observation& observation, bool is_profiled)
    : observation_(observation), warps_(kMaxWarps), counts_(observation.num_operands()) {
    if (is_profiled) profiler_ = std::make_unique<Profiler>();
}

void Observer::see(const MemoryAccess& access) {
    const uint64_t place = reinterpret_cast<uint64_t>(access.place);
    const uint64_t site = (current_block->self().path.hash ^ place) * kSiteFactor;
    if (access.num_bytes <= kMaxInstructionBytes) {
        see_part(access, site);
        return;
    }
    MemoryAccess part = access;
    for (uint64_t done = 0; done < access.num_bytes; done += kMaxInstructionBytes) {
        part.address = access.address + done;
        part.num_bytes = std::min(access.num_bytes - done, kMaxInstructionBytes);
        see_part(part, site + done);
    }
}

void Observer::see_part(const MemoryAccess& access, uint64_t site) {
    uint32_t operand = 0;
    uint64_t address = access.address;
    if (access.num_bytes > 0) {
        if (latest_ == nullptr || !observation_.holds(*latest_, access.address)) {
            latest_ = observation_.find(access.address);
        }
        if (profiler_ != nullptr) profiler_->see(access, site, latest_ != nullptr);
        if (latest_ == nullptr) return;
        operand = latest_->index;
        address += latest_->shift;
        Counts& counts = counts_[operand];
        if (access.is_read) {
            ++counts.num_reads;
            counts.read_bytes += access.num_bytes;
        }
        if (access.is_write) {
            ++counts.num_writes;
            counts.write_bytes += access.num_bytes;
        }
    }
    const LaneState& lane = current_block->self();
    warps_[lane.warp_index].add(LaneAccess{site, lane.lane_index, operand, address,
                                           static_cast<uint32_t>(access.num_bytes), access.is_read,
                                           access.is_write});
}

void Observer::meet_all(unsigned num_warps) {
    for (unsigned warp = 0; warp < num_warps; ++warp) meet(warp);
}

}  // namespace paged_interpret
