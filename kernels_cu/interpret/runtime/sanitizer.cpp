// Judging accesses.
#include "sanitizer.h"

#include <algorithm>
#include <cstring>

#include "../device.h"
#include "../dynamic_shared.h"

namespace paged_interpret {

Sanitizer* current_sanitizer = nullptr;

namespace {

constexpr uint8_t kWholeWord = (1u << Shadow::kWordBytes) - 1;

// An address in the kernel's library: that of a call's return may be the next line's.
uint64_t frame_of(const void* place, uint64_t module_base) {
    return reinterpret_cast<uint64_t>(place) - 1 - module_base;
}

// Whether all bytes are 1. Mostly of so few that a call would take longer.
bool are_all_defined(const char* defined, uint64_t num_bytes) {
    bool are_all = true;
    for (uint64_t i = 0; i < num_bytes; ++i) are_all &= defined[i] != 0;
    return are_all;
}

}  // namespace

Sanitizer::Sanitizer(const Request& request, const Tables& tables)
    : request_(request),
      module_base_(request.module->base),
      findings_(*reinterpret_cast<Findings*>(tables.base + tables.control->findings_offset)),
      operands_(tables),
      shared_shadow_(request.module->tls_bytes),
      settled_(request.module->tls_bytes) {}

void Sanitizer::begin_block(uint64_t index, unsigned num_threads, const SharedMemory& shared) {
    ordering_.begin_block(static_cast<uint32_t>(index), num_threads);
    ++block_serial_;
    shared_begin_ = reinterpret_cast<uint64_t>(shared.begin());
    shared_bytes_ = request_.module->tls_bytes;
    dynamic_begin_ = shared.dynamic() == nullptr ? shared_begin_ + shared_bytes_
                                                 : reinterpret_cast<uint64_t>(shared.dynamic());
}

void Sanitizer::see(const MemoryAccess& access) {
    if (is_shared(access.address)) {
        see_shared(access);
    } else if (operands_.is_near(access.address)) {
        see_operand(access);
    }
}

void Sanitizer::fence(bool is_of_device) { ordering_.fence(current_thread(), is_of_device); }

void Sanitizer::see_operand(const MemoryAccess& access) {
    const OperandMap::Place* place =
        operands_.find(access.address, access.num_bytes, access.place);
    const OperandMap::Place& meant = place == nullptr ? operands_.nearest(access.address) : *place;
    const Spot spot{access, Space::operand, meant.index,
                    static_cast<int64_t>(access.address - meant.begin)};
    if (place == nullptr) {
        report(FindingKind::out_of_bounds, spot, nullptr, false);
        return;
    }
    if (access.is_write && meant.operand->is_written == 0) {
        report(FindingKind::write_to_input, spot, nullptr, false);
        return;
    }
    if (access.is_atomic) {
        ordering_.meet_at_address(current_thread(), access.address, false);
    }
    if (meant.defined != nullptr) judge_definition(spot, meant.defined + spot.offset);
    if (meant.room != nullptr) {
        judge_words(spot, meant.room->shadow, access.address - meant.room->begin);
    }
}

void Sanitizer::judge_definition(const Spot& spot, char* defined) {
    const size_t num_bytes = spot.access.num_bytes;
    if (spot.access.is_read && !are_all_defined(defined, num_bytes)) {
        report(FindingKind::undefined_read, spot, nullptr, false);
    }
    if (spot.access.is_write) std::memset(defined, 1, num_bytes);
}

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

void Sanitizer::read_shared(uint64_t address, uint64_t num_bytes, const void* place) {
    if (pass_words(address - shared_begin_, num_bytes, place)) return;
    see_shared(MemoryAccess{address, num_bytes, true, false, place});
}

void Sanitizer::read_operand(uint64_t address, uint64_t num_bytes, const void* place) {
    const OperandMap::Place* found = operands_.find(address, num_bytes, place);
    if (found != nullptr && found->room == nullptr) {
        if (found->defined == nullptr) return;
        if (are_all_defined(found->defined + (address - found->begin), num_bytes)) return;
    }
    see_operand(MemoryAccess{address, num_bytes, true, false, place});
}

Record Sanitizer::record_of(const void* place, uint8_t mask, bool is_atomic) const {
    const auto frame = static_cast<uint32_t>(frame_of(place, module_base_));
    const auto thread = static_cast<uint16_t>(current_thread());
    return Record{ordering_.now(), ordering_.block(), frame, thread, mask, is_atomic};
}

// Reads of whole words that are right, before they are settled: remembers them. Returns false where
// they must be judged.
bool Sanitizer::pass_words(uint64_t offset, uint64_t num_bytes, const void* place) {
    if ((offset | num_bytes) % Shadow::kWordBytes != 0) return false;
    if (num_bytes > shared_bytes_ - offset) return false;
    const Record own = record_of(place, kWholeWord, false);
    for (uint64_t word = 0; word < num_bytes; word += Shadow::kWordBytes) {
        if (!pass_word(offset + word, own)) return false;
    }
    return true;
}

// Two readers are enough, of two warps where more than one reads: whoever writes later is another
// thread than one of them, and meets one of them at a barrier of the block only.
inline void Sanitizer::remember_read(Cell& cell, const Record& own, bool is_shared) const {
    for (Record& read : cell.reads) {
        const bool is_own = read.thread == own.thread && read.block == own.block;
        if (read.mask != 0 && !is_own && !is_ordered(read, own.thread, is_shared)) continue;
        const uint8_t before = is_own && read.stamp == own.stamp ? read.mask : 0;
        read = own;
        read.mask |= before;
        return;
    }
    const unsigned warps[] = {cell.reads[0].thread / kWarpSize, cell.reads[1].thread / kWarpSize};
    if (warps[0] == warps[1] && own.thread / kWarpSize != warps[0]) cell.reads[1] = own;
}

bool Sanitizer::pass_word(uint64_t offset, const Record& own) {
    Cell& cell = shared_shadow_.word(offset);
    if (cell.defined_block != block_serial_ || cell.defined != kWholeWord || cell.in_flight != 0 ||
        !ordering_.is_past_barrier(cell.write, own.thread)) {
        return false;
    }
    remember_read(cell, own, true);
    settle(offset, cell, own);
    return true;
}

// After a clean read: once two lanes of its warp have read the word, or two warps, whoever reads it
// next adds nothing, see remember_read.
void Sanitizer::settle(uint64_t offset, const Cell& cell, const Record& own) {
    const Record &a = cell.reads[0], &b = cell.reads[1];
    if ((a.mask & b.mask) != kWholeWord) return;
    if (ordering_.is_past_barrier(a, own.thread)) return;
    if (ordering_.is_past_barrier(b, own.thread)) return;
    const unsigned warp = own.thread / kWarpSize;
    const bool is_of_one = a.thread / kWarpSize == b.thread / kWarpSize;
    if (is_of_one && a.thread / kWarpSize != warp) return;
    if (!is_of_one && ordering_.is_past_barrier_of_block(cell.write)) {
        settled_.add_for_all(offset, ordering_);
    } else {
        settled_.add_for_one(offset, ordering_, warp);
    }
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

void Sanitizer::judge_words(const Spot& spot, const Shadow& shadow, uint64_t offset) {
    Record own = record_of(spot.access.place, kWholeWord, spot.access.is_atomic);
    if (spot.space == Space::operand) {
        if (Cell* cell = shadow.vector(offset, spot.access.num_bytes)) {
            judge_word(spot, *cell, own);
            return;
        }
    }
    for_each_word(spot, offset, shadow, [&](Cell& cell, uint8_t mask) {
        own.mask = mask;
        if (spot.space != Space::operand && !judge_shared_word(spot, cell, mask)) return;
        judge_word(spot, cell, own);
    });
}

// Shared memory: whether a byte was written by this block, or will be by a copy on its way. Returns
// false where it will: all other conflicts follow from that.
bool Sanitizer::judge_shared_word(const Spot& spot, Cell& cell, uint8_t mask) {
    if (cell.defined_block != block_serial_) {
        cell.defined_block = block_serial_;
        cell.defined = cell.in_flight = 0;
    }
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

void Sanitizer::judge_word(const Spot& spot, Cell& cell, const Record& own) {
    const bool is_shared = spot.space != Space::operand;
    if (conflicts(cell.write, own, is_shared)) {
        report(FindingKind::race, spot, &cell.write, true);
    }
    if (!spot.access.is_write) {
        remember_read(cell, own, is_shared);
        return;
    }
    for (Record& read : cell.reads) {
        if (conflicts(read, own, is_shared)) report(FindingKind::race, spot, &read, false);
        read.mask &= static_cast<uint8_t>(~own.mask);
    }
    const bool is_again = cell.write.thread == own.thread && cell.write.stamp == own.stamp;
    const uint8_t before = is_again ? cell.write.mask : 0;
    cell.write = own;
    cell.write.mask |= before;
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

void Sanitizer::report(FindingKind kind, const Spot& spot, const Record* other,
                       bool is_other_write) {
    const uint64_t place = reinterpret_cast<uint64_t>(spot.access.place);
    const uint64_t key = mix(place) ^ mix(static_cast<uint64_t>(kind) << 32 | spot.operand);
    if (!reported_.insert(key).second) return;
    if (findings_.num_findings == kMaxFindings) {
        ++findings_.num_left_out;
        return;
    }
    Finding& finding = findings_.found[findings_.num_findings];
    finding.kind = kind;
    finding.space = spot.space;
    finding.operand = spot.operand;
    finding.num_bytes = static_cast<uint32_t>(spot.access.num_bytes);
    finding.offset = spot.offset;
    finding.is_write = spot.access.is_write;
    finding.actor = Actor{ordering_.block(), current_thread()};
    finding.num_frames = record_calls(frame_of(spot.access.place, module_base_), finding.frames);
    finding.has_other = other != nullptr;
    if (other != nullptr) {
        finding.is_other_write = is_other_write;
        finding.other = Actor{other->block, other->thread};
        finding.other_frame = other->place;
    }
    ++findings_.num_findings;
}

}  // namespace paged_interpret
