// Sanitized launches: every access of the kernel to memory is judged before it happens.
//
// The kernel is compiled as for an observed launch, and all of its blocks run on one OS thread. A
// thread's own memory and variables at namespace scope are not judged.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "../device.h"
#include "findings.h"
#include "observation.h"
#include "operand_map.h"
#include "ordering.h"
#include "shared_memory.h"

namespace paged_interpret {

class Sanitizer {
public:
    Sanitizer(const Request& request, const Tables& tables);

    void begin_block(uint64_t index, unsigned num_threads, const SharedMemory& shared);
    void see(const MemoryAccess& access);
    // The most frequent access by far: a read of whole words of shared memory of which nothing is to
    // be said, or remembered, for others have read them since a barrier.
    bool is_settled(uint64_t address, uint64_t num_bytes) const;
    // The same read before it is settled: remembers it. Returns false where it must be judged.
    bool pass_read(uint64_t address, uint64_t num_bytes, const void* place);
    // An asynchronous copy to shared memory was issued, or has been waited for.
    void begin_copy(const MemoryAccess& access);
    void end_copy(const MemoryAccess& access);
    void fence(bool is_of_device);
    Ordering& ordering() { return ordering_; }

private:
    // An access, and where it is.
    struct Spot {
        const MemoryAccess& access;
        Space space;
        uint32_t operand;
        int64_t offset;
    };

    // Warps whose reads of a word, up to the next synchronisation, are right and need not be
    // remembered.
    struct Settled {
        uint32_t stamp;
        uint32_t warps;
    };
    static_assert(kMaxWarps <= 32, "a bit for each warp of a block");

    bool pass_word(uint64_t offset, const void* place);
    uint32_t settled_warps(const Cell& cell, unsigned warp) const;
    void see_shared(const MemoryAccess& access);
    void unsettle(uint64_t offset, uint64_t num_bytes);
    void see_operand(const MemoryAccess& access);
    void judge_definition(const Spot& spot, char* defined);
    void judge_words(const Spot& spot, const Shadow& shadow, uint64_t offset);
    void judge_word(const Spot& spot, Cell& cell, const Record& own);
    bool judge_shared_word(const Spot& spot, Cell& cell, uint8_t mask);
    void remember_read(Cell& cell, const Record& own, bool is_shared) const;
    bool is_shared(uint64_t address) const { return address - shared_begin_ < shared_bytes_; }
    bool conflicts(const Record& earlier, const Record& own, bool is_shared) const;
    bool is_ordered(const Record& record, unsigned thread, bool is_shared) const;
    Spot shared_spot(const MemoryAccess& access) const;
    template <class Visit>
    void for_each_word(const Spot& spot, uint64_t offset, const Shadow& shadow, Visit visit);
    void report(FindingKind kind, const Spot& spot, const Record* other, bool is_other_write);

    const Request& request_;
    const uint64_t module_base_;
    Findings& findings_;
    OperandMap operands_;
    Ordering ordering_;
    uint64_t shared_begin_ = 0, shared_bytes_ = 0;
    uint64_t dynamic_begin_ = 0;  // an address; the end of shared memory where the kernel has none
    uint32_t block_serial_ = 0;
    Shadow shared_shadow_;
    std::vector<Settled> settled_;  // by word of shared memory
    std::unordered_set<uint64_t> reported_;
};

inline unsigned current_thread() {
    return current_lane->warp_index * kWarpSize + current_lane->lane_index;
}

inline bool Sanitizer::is_settled(uint64_t address, uint64_t num_bytes) const {
    const uint64_t offset = address - shared_begin_;
    if (offset >= shared_bytes_ || num_bytes > shared_bytes_ - offset) return false;
    if (offset % Shadow::kWordBytes != 0) return false;
    const Settled* settled = &settled_[offset / Shadow::kWordBytes];
    const Settled* end = settled + num_bytes / Shadow::kWordBytes;
    for (; settled < end; ++settled) {
        if (settled->stamp != ordering_.now()) return false;
        if ((settled->warps >> current_lane->warp_index & 1) == 0) return false;
    }
    return true;
}

// Of the blocks that the calling OS thread runs; null where the launch is not sanitized.
extern __thread Sanitizer* current_sanitizer __attribute__((tls_model("initial-exec")));

}  // namespace paged_interpret
