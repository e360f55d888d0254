// Memory of operands as the child of an isolated launch sees it.
#include "regions.h"

#include <sys/mman.h>

#include <cstring>

namespace paged_interpret {

namespace {

// A stray index lands in the guard, and it is told from which operand it came: any of 32 bits, of
// elements of 4 bytes. Only addresses are reserved; where a limit on them is set, fewer must do.
constexpr size_t kRegionGuardBytes = size_t{1} << 34;
constexpr size_t kLeastRegionGuardBytes = size_t{1} << 20;

// Memory that cannot be accessed, with room for each region between two guards of its own.
struct Reserved {
    char* begin;  // null where memory is short
    size_t guard_bytes;
};

Reserved reserve(const Tables& tables) {
    const uint32_t num_regions = tables.control->num_regions;
    size_t room_bytes = 0;
    for (uint32_t i = 0; i < num_regions; ++i) room_bytes += tables.regions[i].num_room_bytes;
    for (const size_t guard_bytes : {kRegionGuardBytes, kLeastRegionGuardBytes}) {
        void* begin = mmap(nullptr, room_bytes + num_regions * 2 * guard_bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (begin != MAP_FAILED) return Reserved{static_cast<char*>(begin), guard_bytes};
    }
    return Reserved{nullptr, 0};
}

bool map_region(Region& region, char* begin, int arena) {
    const size_t room = region.num_room_bytes;
    const int populate = region.is_large != 0 ? 0 : MAP_POPULATE;
    if (mmap(begin, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | populate, arena,
             static_cast<off_t>(region.offset)) == MAP_FAILED) {
        return false;
    }
    region.mapped = reinterpret_cast<uint64_t>(begin + region.lead_bytes);
    return true;
}

struct Margins {
    char* begin;
    char* data;
    char* data_end;
    char* end;
};

Margins margins_of(const Region& region) {
    char* data = reinterpret_cast<char*>(region.mapped);
    char* begin = data - region.lead_bytes;
    return Margins{begin, data, data + region.num_bytes, begin + region.num_room_bytes};
}

void poison_axis(const Operand& operand, char* base, uint32_t axis, int byte) {
    if (axis == operand.num_axes) {
        std::memset(base, byte, operand.element_bytes);
        return;
    }
    const int64_t size = operand.sizes[axis];
    if (axis + 1 == operand.num_axes && operand.strides[axis] == 1) {
        std::memset(base, byte, static_cast<size_t>(size) * operand.element_bytes);
        return;
    }
    const int64_t step = operand.strides[axis] * operand.element_bytes;
    for (int64_t i = 0; i < size; ++i) poison_axis(operand, base + i * step, axis + 1, byte);
}

const char* first_other_than(const char* begin, const char* end, char byte) {
    while (begin < end && *begin == byte) ++begin;
    return begin;
}

}  // namespace

Tables tables_of(char* base) {
    auto* control = reinterpret_cast<Control*>(base);
    return Tables{control, reinterpret_cast<Region*>(base + control->regions_offset),
                  reinterpret_cast<Operand*>(base + control->operands_offset),
                  reinterpret_cast<ArgumentBytes*>(base + control->arguments_offset), base};
}

bool enter_regions(const Tables& tables, int arena) {
    const Control& control = *tables.control;
    if (control.num_regions == 0) return true;
    const Reserved reserved = reserve(tables);
    if (reserved.begin == nullptr) return false;
    char* place = reserved.begin + reserved.guard_bytes;
    for (uint32_t i = 0; i < control.num_regions; ++i) {
        if (!map_region(tables.regions[i], place, arena)) return false;
        place += tables.regions[i].num_room_bytes + 2 * reserved.guard_bytes;
        const Margins at = margins_of(tables.regions[i]);
        std::memset(at.begin, static_cast<int>(control.poison), at.data - at.begin);
        std::memset(at.data_end, static_cast<int>(control.poison), at.end - at.data_end);
    }
    for (uint32_t i = 0; i < control.num_operands; ++i) {
        const Operand& operand = tables.operands[i];
        const uint64_t address = tables.regions[operand.region].mapped + operand.address;
        if (operand.is_poisoned != 0) {
            poison_operand(operand, reinterpret_cast<char*>(address), control.poison);
        }
        const uint64_t argument = tables.arguments[operand.argument].offset;
        std::memcpy(tables.base + argument + operand.argument_offset, &address, sizeof address);
    }
    for (uint32_t i = 0; i < control.num_regions; ++i) {
        const Region& region = tables.regions[i];
        if (region.is_written == 0) {
            mprotect(margins_of(region).begin, region.num_room_bytes, PROT_READ);
        }
    }
    return true;
}

void report_stray_write(const Tables& tables) {
    const auto byte = static_cast<char>(tables.control->poison);
    for (uint32_t i = 0; i < tables.control->num_regions; ++i) {
        if (tables.regions[i].is_written == 0) continue;
        const Margins at = margins_of(tables.regions[i]);
        const char* stray = first_other_than(at.begin, at.data, byte);
        if (stray == at.data) stray = first_other_than(at.data_end, at.end, byte);
        if (stray == at.end) continue;
        Report& report = tables.control->report;
        if (!claim_report(report)) return;
        report.failure = Failure::stray_write;
        report.access = Access::write;
        report.has_address = 1;
        report.address = reinterpret_cast<uint64_t>(stray);
        return;
    }
}

void poison_operand(const Operand& operand, char* base, unsigned poison) {
    poison_axis(operand, base, 0, static_cast<int>(poison));
}

}  // namespace paged_interpret
