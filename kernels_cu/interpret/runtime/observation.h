// Observed launches: every access of the kernel to memory comes by here, and is counted.
//
// A kernel that is compiled with -fsanitize=thread calls a hook at each of its accesses (hooks.cpp);
// the sanitizer's own library is never linked. What the runtime accesses for a kernel it tells
// itself: asynchronous copies, and memcpy and its kin.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "block.h"
#include "control.h"
#include "profile.h"
#include "requests.h"

namespace paged_interpret {

// One access by the current lane.
struct MemoryAccess {
    uint64_t address;
    uint64_t num_bytes;  // 0: an instruction that moves nothing
    bool is_read;
    bool is_write;        // both: an atomic operation
    const void* place;    // in the kernel's code
    bool is_atomic = false;
};

// Axes with a stride, the longest first.
std::vector<uint32_t> strided_axes(const Operand& operand);
// Whether an element lies so many bytes behind the first, not beyond the last.
bool has_element(const Operand& operand, const std::vector<uint32_t>& axes, uint64_t offset);

// Memory in which all operands lie. Most accesses are elsewhere, and must not cost much.
struct ObservedRange {
    uint64_t begin;
    uint64_t num_bytes;  // 0: the launch is not observed
};

// The operands of a launch by their addresses, and what was counted of them.
class Observation {
public:
    struct Watched {
        uint64_t begin;
        uint64_t end;
        uint64_t shift;  // from an address here to the caller's
        uint32_t index;
        bool is_alone;  // no other operand has memory between its first and last element
    };

    // In place, addresses are the operands' own; in a child they lie in mapped regions.
    Observation(Operand* operands, uint32_t num_operands, const Region* regions);

    // The operand that has an element at an address, null for none.
    const Watched* find(uint64_t address) const;
    bool holds(const Watched& watched, uint64_t address) const {
        if (address < watched.begin || address >= watched.end) return false;
        return watched.is_alone || has_element(operands_[watched.index], axes_[watched.index],
                                               address - watched.begin);
    }
    const ObservedRange& range() const { return range_; }
    uint32_t num_operands() const { return num_operands_; }
    // Adds counts to the operands' own.
    void add(const std::vector<Counts>& counts);

private:
    Operand* operands_;
    uint32_t num_operands_;
    ObservedRange range_;
    std::vector<Watched> watched_;
    std::vector<std::vector<uint32_t>> axes_;  // by operand
};

// Observes the blocks that one OS thread runs.
class Observer {
public:
    // Profiled, it sees accesses to shared memory too.
    Observer(const Observation& observation, bool is_profiled);

    void see(const MemoryAccess& access);
    // All lanes of a warp, or of the block, have met.
    void meet(unsigned warp_index) {
        warps_[warp_index].settle(counts_.data());
        if (profiler_ != nullptr) profiler_->settle(warp_index);
    }
    void meet_all(unsigned num_warps);
    const std::vector<Counts>& counts() const { return counts_; }
    ObservedRange range() const {
        return profiler_ == nullptr ? observation_.range() : ObservedRange{0, ~uint64_t{0}};
    }
    Profiler* profiler() const { return profiler_.get(); }

private:
    void see_part(const MemoryAccess& access, uint64_t site);

    const Observation& observation_;
    const Observation::Watched* latest_ = nullptr;
    std::vector<WarpRequests> warps_;
    std::vector<Counts> counts_;  // by operand
    std::unique_ptr<Profiler> profiler_;  // null: the launch is not profiled
};

// Of the blocks that the calling OS thread runs; null where the launch is not observed.
extern __thread Observer* current_observer __attribute__((tls_model("initial-exec")));
extern __thread ObservedRange observed_range __attribute__((tls_model("initial-exec")));
// Sets both.
void set_current_observer(Observer* observer);

// Of the blocks that the calling OS thread runs; null where the launch is not profiled.
inline Profiler* current_profiler() {
    return current_observer == nullptr ? nullptr : current_observer->profiler();
}

}  // namespace paged_interpret
