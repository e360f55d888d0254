// Judging accesses to shared memory.
#include <algorithm>

#include "../dynamic_shared.h"
#include "sanitizer.h"

namespace paged_interpret {

Sanitizer::Spot Sanitizer::shared_spot(const MemoryAccess& access) const {
    const bool is_dynamic = access.address >= dynamic_begin_ &&
                            access.address < dynamic_begin_ + kMaxDynamicSharedBytes;
    const uint64_t begin = is_dynamic ? dynamic_begin_ : shared_begin_;
    return Spot{access, is_dynamic ? Space::dynamic_shared : Space::static_shared, 0,
                static_cast<int64_t>(access.address - begin)};
}

void Sanitizer::see_shared(const MemoryAccess& access) {
    const Spot spot = shared_spot(access);
    const uint64_t end = static_cast<uint64_t>(spot.offset) + access.num_bytes;
    if (spot.space == Space::dynamic_shared && end > request_.shared_bytes) {
        report(FindingKind::out_of_bounds, spot, nullptr, false);
        return;
    }
    if (access.is_atomic) ordering_.meet_at_address(current_thread(), access.address, true);
    const uint64_t offset = access.address - shared_begin_;
    if (access.is_write) {
        settled_.remove(offset, std::min(offset + access.num_bytes, shared_bytes_));
    }
    judge_words(spot, shared_shadow_, offset);
}

// Whole words first, as long as all is right, then what is left or not.
template <bool is_write>
void Sanitizer::access_shared(uint64_t address, uint64_t num_bytes, const void* place) {
    const uint64_t offset = address - shared_begin_;
    if (has_words(offset, num_bytes) && ordering_.is_simple()) {
        const Record own = record_of(place, Shadow::kWholeWord, false);
        const Ordering::Floors floors = ordering_.floors_of(own.thread);
        const auto pass = is_write ? &Sanitizer::pass_write : &Sanitizer::pass_read;
        uint64_t done = 0;
        while (done < num_bytes && (this->*pass)(offset + done, own, floors)) {
            done += Shadow::kWordBytes;
        }
        if (done == num_bytes) return;
    }
    see_shared(MemoryAccess{address, num_bytes, !is_write, is_write, place});
}

// As judge_word and remember_read, where all but barriers of whole warps and blocks is left out.
// After it, once two lanes of its warp have read the word, or two warps, whoever reads it next adds
// nothing.
__attribute__((always_inline)) inline bool Sanitizer::pass_read(uint64_t offset, const Record& own,
                                 const Ordering::Floors& floors) {
    Cell& cell = shared_shadow_.word(offset);
    if (!ordering_.is_of_this_block(cell.write) || cell.defined != Shadow::kWholeWord) return false;
    if (cell.in_flight != 0 || !floors.are_past(cell.write)) return false;
    Record &a = cell.reads[0], &b = cell.reads[1];
    if (a.mask == 0 || a.thread == own.thread || floors.are_past(a)) {
        a = own;
        settled_.add(offset, ordering_.period_of_thread(own.thread));
        return true;
    }
    const unsigned first_warp = a.thread / kWarpSize;
    if (b.mask == 0 || b.thread == own.thread || floors.are_past(b) ||
        (b.thread / kWarpSize == first_warp && floors.warp != first_warp)) {
        b = own;
    }
    if ((a.mask & b.mask) != Shadow::kWholeWord) return true;
    if (b.thread / kWarpSize == first_warp) {
        settled_.add(offset, ordering_.period_of(first_warp));
    } else if (cell.write.stamp <= floors.of_block) {
        settled_.add(offset, ordering_.period());
    }
    return true;
}

__attribute__((always_inline)) inline bool Sanitizer::pass_write(uint64_t offset, const Record& own,
                                  const Ordering::Floors& floors) {
    Cell& cell = shared_shadow_.word(offset);
    const bool is_first = !ordering_.is_of_this_block(cell.write);
    if (is_first ? offset + Shadow::kWordBytes > end_of_dynamic() : cell.in_flight != 0) {
        return false;
    }
    const auto is_before = [&](const Record& record) {
        return record.mask == 0 || record.thread == own.thread || floors.are_past(record);
    };
    if (!is_before(cell.write) || !is_before(cell.reads[0]) || !is_before(cell.reads[1])) {
        return false;
    }
    cell.write = own;
    cell.reads[0].mask = cell.reads[1].mask = 0;
    cell.defined = Shadow::kWholeWord;
    cell.in_flight = 0;
    settled_.remove(offset, offset + Shadow::kWordBytes);
    return true;
}

template void Sanitizer::access_shared<false>(uint64_t, uint64_t, const void*);
template void Sanitizer::access_shared<true>(uint64_t, uint64_t, const void*);

// Shared memory: whether a byte was written by this block, or will be by a copy on its way. Returns
// false where it will: all other conflicts follow from that.
bool Sanitizer::judge_shared_word(const Spot& spot, Cell& cell, uint8_t mask) {
    if (!ordering_.is_of_this_block(cell.write)) cell.defined = cell.in_flight = 0;
    if ((cell.in_flight & mask) != 0) {
        report(FindingKind::copy_in_flight, spot, &cell.write, true);
        return false;
    }
    if (spot.access.is_read && (mask & ~cell.defined) != 0) {
        report(FindingKind::undefined_read, spot, nullptr, false);
    }
    if (spot.access.is_write) cell.defined |= mask;
    return true;
}

void Sanitizer::begin_copy(const MemoryAccess& access) {
    see(access);
    const Spot spot = shared_spot(access);
    for_each_word(spot, access.address - shared_begin_, shared_shadow_,
                  [](Cell& cell, uint8_t mask) { cell.in_flight |= mask; });
}

void Sanitizer::end_copy(const MemoryAccess& access) {
    const Spot spot = shared_spot(access);
    for_each_word(spot, access.address - shared_begin_, shared_shadow_,
                  [](Cell& cell, uint8_t mask) {
                      cell.in_flight &= static_cast<uint8_t>(~mask);
                  });
    see(access);
}

}  // namespace paged_interpret
