// Sanitized launches: every access of the kernel to memory is judged before it happens.
//
// The kernel is compiled as for an observed launch, and all of its blocks run on one OS thread. A
// thread's own memory and variables at namespace scope are not judged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "../device.h"
#include "findings.h"
#include "observation.h"
#include "operand_map.h"
#include "ordering.h"
#include "settled_words.h"
#include "shared_memory.h"

namespace paged_interpret {

class Sanitizer {
public:
    Sanitizer(const Request& request, const Tables& tables);

    void begin_block(uint64_t index, unsigned num_threads, const SharedMemory& shared);
    void see(const MemoryAccess& access);
    // A plain read of whole words, or within one. Of most nothing is to be said, or remembered: of words
    // of shared memory that others have read since a barrier, of operands that are not written.
    void see_read(uint64_t address, uint64_t num_bytes, const void* place);
    // A plain write of the same.
    void see_write(uint64_t address, uint64_t num_bytes, const void* place);
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

    // Not inlined, so that a settled read needs no room on the stack.
    template <bool is_write>
    __attribute__((noinline)) void access_shared(uint64_t address, uint64_t num_bytes,
                                                 const void* place);
    __attribute__((noinline)) void read_operand(uint64_t address, uint64_t num_bytes,
                                                const void* place);
    // Whole words of shared memory, where all is right: remembers the access. Return false where
    // it must be judged.
    bool pass_read(uint64_t offset, const Record& own, const Ordering::Floors& floors);
    bool pass_write(uint64_t offset, const Record& own, const Ordering::Floors& floors);
    Record record_of(const void* place, uint8_t mask, bool is_atomic) const {
        const auto frame = static_cast<uint32_t>(frame_of(place));
        const auto thread = static_cast<uint16_t>(current_thread());
        return Record{ordering_.now(), frame, thread, mask, is_atomic};
    }
    // An address in the kernel's library: that of a call's return may be the next line's.
    uint64_t frame_of(const void* place) const {
        return reinterpret_cast<uint64_t>(place) - 1 - module_base_;
    }
    void see_shared(const MemoryAccess& access);
    void see_operand(const MemoryAccess& access);
    void judge_definition(const Spot& spot, char* defined);
    void judge_words(const Spot& spot, const Shadow& shadow, uint64_t offset);
    void judge_word(const Spot& spot, Cell& cell, const Record& own);
    bool judge_shared_word(const Spot& spot, Cell& cell, uint8_t mask);
    __attribute__((always_inline)) void remember_read(Cell& cell, const Record& own,
                                                      bool is_shared) const;
    // Where the dynamic memory that the block asked for ends, as an offset.
    uint64_t end_of_dynamic() const {
        return dynamic_begin_ - shared_begin_ + request_.shared_bytes;
    }
    bool has_words(uint64_t offset, uint64_t num_bytes) const {
        return (offset | num_bytes) % Shadow::kWordBytes == 0 &&
               num_bytes <= shared_bytes_ - offset;
    }
    bool is_shared(uint64_t address) const { return address - shared_begin_ < shared_bytes_; }
    bool conflicts(const Record& earlier, const Record& own, bool is_shared) const {
        if ((earlier.mask & own.mask) == 0) return false;
        if (earlier.is_atomic != 0 && own.is_atomic != 0) return false;
        return !is_ordered(earlier, own.thread, is_shared);
    }
    bool is_ordered(const Record& record, unsigned thread, bool is_shared) const {
        return is_shared ? ordering_.is_ordered(record, thread)
                         : ordering_.is_ordered_in_grid(record, thread);
    }
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
    Shadow shared_shadow_;
    SettledWords settled_;  // by offset in shared memory
    std::unordered_set<uint64_t> reported_;
};

inline void Sanitizer::see_read(uint64_t address, uint64_t num_bytes, const void* place) {
    const uint64_t offset = address - shared_begin_;
    if (offset < shared_bytes_) {
        if (settled_.hold(offset, num_bytes, ordering_)) return;
        access_shared<false>(address, num_bytes, place);
    } else if (operands_.is_near(address)) {
        read_operand(address, num_bytes, place);
    }
}

inline void Sanitizer::see_write(uint64_t address, uint64_t num_bytes, const void* place) {
    if (is_shared(address)) {
        access_shared<true>(address, num_bytes, place);
    } else if (operands_.is_near(address)) {
        see_operand(MemoryAccess{address, num_bytes, false, true, place});
    }
}

// Two readers are enough, of two warps where more than one reads: whoever writes later is another
// thread than one of them, and meets one of them at a barrier of the block only.
inline void Sanitizer::remember_read(Cell& cell, const Record& own, bool is_shared) const {
    for (Record& read : cell.reads) {
        const bool is_own = read.thread == own.thread && ordering_.is_of_this_block(read);
        if (read.mask != 0 && !is_own && !is_ordered(read, own.thread, is_shared)) continue;
        const uint8_t before = is_own && read.stamp == own.stamp ? read.mask : 0;
        read = own;
        read.mask |= before;
        return;
    }
    const unsigned warps[] = {cell.reads[0].thread / kWarpSize, cell.reads[1].thread / kWarpSize};
    if (warps[0] == warps[1] && own.thread / kWarpSize != warps[0]) cell.reads[1] = own;
}

// Calls visit(cell, bytes of it) for each word of an access.
template <class Visit>
void Sanitizer::for_each_word(const Spot& spot, uint64_t offset, const Shadow& shadow,
                              Visit visit) {
    const uint64_t end = offset + spot.access.num_bytes;
    for (uint64_t at = offset; at < end;) {
        const uint64_t begin = at % Shadow::kWordBytes;
        const uint64_t stop = std::min(Shadow::kWordBytes, begin + (end - at));
        visit(shadow.word(at), static_cast<uint8_t>((1u << stop) - (1u << begin)));
        at += stop - begin;
    }
}

// Of the launch of this process; null where it is not sanitized.
extern Sanitizer* current_sanitizer;

}  // namespace paged_interpret
