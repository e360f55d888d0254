// Judging accesses, those to operands first.
#include "sanitizer.h"

#include <cstring>

#include "../device.h"

namespace paged_interpret {

Sanitizer* current_sanitizer = nullptr;

namespace {

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

void Sanitizer::read_operand(uint64_t address, uint64_t num_bytes, const void* place) {
    const OperandMap::Place* found = operands_.find(address, num_bytes, place);
    if (found != nullptr && found->room == nullptr) {
        if (found->defined == nullptr) return;
        if (are_all_defined(found->defined + (address - found->begin), num_bytes)) return;
    }
    see_operand(MemoryAccess{address, num_bytes, true, false, place});
}

void Sanitizer::judge_words(const Spot& spot, const Shadow& shadow, uint64_t offset) {
    Record own = record_of(spot.access.place, Shadow::kWholeWord, spot.access.is_atomic);
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
    finding.num_frames = record_calls(frame_of(spot.access.place), finding.frames);
    finding.has_other = other != nullptr;
    if (other != nullptr) {
        finding.is_other_write = is_other_write;
        finding.other = Actor{ordering_.block_of(*other), other->thread};
        finding.other_frame = other->place;
    }
    ++findings_.num_findings;
}

}  // namespace paged_interpret
