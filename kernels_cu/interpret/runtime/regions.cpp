// Memory of operands as the child of an isolated launch sees it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "isolation.h"

namespace paged_interpret {

namespace {

// A stray index lands in the guard and is told from which operand it came.
constexpr size_t kGuardBytes = 1 << 20;
constexpr size_t kPageBytes = 4096;
// The address of an operand keeps its remainder: 16-byte loads stay as aligned as they were.
constexpr size_t kKeptAlignment = 16;

size_t pages_up(size_t num_bytes) { return (num_bytes + kPageBytes - 1) & ~(kPageBytes - 1); }

size_t remainder_of(const void* address) {
    return reinterpret_cast<uintptr_t>(address) % kKeptAlignment;
}

size_t room_bytes(const Region& region) { return pages_up(region.num_bytes + kKeptAlignment); }

bool map_region(Region& region, const Memory& memory) {
    const size_t room = room_bytes(region);
    const size_t total = room + 2 * kGuardBytes;
    void* reserved = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0);
    if (reserved == MAP_FAILED) return false;
    region.reserved = static_cast<char*>(reserved);
    char* begin = region.reserved + kGuardBytes;
    if (mmap(begin, room, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0) == MAP_FAILED) {
        return false;
    }
    const size_t remainder = remainder_of(region.caller);
    if (memory.guard_begin != 0) {
        region.mapped = begin + remainder;
    } else {
        char* last = begin + room - region.num_bytes;
        region.mapped = last - (remainder_of(last) + kKeptAlignment - remainder) % kKeptAlignment;
    }
    char* end = region.mapped + region.num_bytes;
    const auto byte = static_cast<int>(memory.poison);
    std::memset(begin, byte, static_cast<size_t>(region.mapped - begin));
    std::memset(end, byte, static_cast<size_t>(begin + room - end));
    std::memcpy(region.mapped, region.caller, region.num_bytes);
    return true;
}

void poison_axis(const Operand& operand, char* base, uint32_t axis, int byte) {
    if (axis == operand.num_axes) {
        std::memset(base, byte, operand.element_bytes);
        return;
    }
    const int64_t step = operand.strides[axis] * operand.element_bytes;
    if (axis + 1 == operand.num_axes && operand.strides[axis] == 1) {
        std::memset(base, byte, static_cast<size_t>(operand.sizes[axis]) * operand.element_bytes);
        return;
    }
    for (int64_t i = 0; i < operand.sizes[axis]; ++i) {
        poison_axis(operand, base + i * step, axis + 1, byte);
    }
}

char* moved(const Memory& memory, const Operand& operand) {
    const Region& region = memory.regions[operand.region];
    return region.mapped + (operand.caller - region.caller);
}

}  // namespace

bool map_regions(Memory& memory) {
    for (uint32_t i = 0; i < memory.num_regions; ++i) {
        Region& region = memory.regions[i];
        region.mapped = region.caller;
        region.reserved = nullptr;
        if (region.is_copied != 0 && !map_region(region, memory)) return false;
    }
    return true;
}

void unmap_regions(Memory& memory) {
    for (uint32_t i = 0; i < memory.num_regions; ++i) {
        Region& region = memory.regions[i];
        if (region.reserved != nullptr) {
            munmap(region.reserved, room_bytes(region) + 2 * kGuardBytes);
        }
        region.reserved = nullptr;
    }
}

void enter_regions(const Memory& memory) {
    for (uint32_t i = 0; i < memory.num_regions; ++i) {
        const Region& region = memory.regions[i];
        if (region.is_written != 0) continue;
        if (region.is_copied != 0) {
            mprotect(region.reserved + kGuardBytes, room_bytes(region), PROT_READ);
            continue;
        }
        // Only whole pages: what else lies on the outer ones may be written.
        const auto begin = pages_up(reinterpret_cast<uintptr_t>(region.mapped));
        const auto end = (reinterpret_cast<uintptr_t>(region.mapped) + region.num_bytes) &
                         ~(kPageBytes - 1);
        if (begin < end) mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ);
    }
    for (uint32_t i = 0; i < memory.num_operands; ++i) {
        const Operand& operand = memory.operands[i];
        char* address = moved(memory, operand);
        std::memcpy(operand.slot, &address, sizeof address);
    }
}

void poison_operands(const Memory& memory, bool in_place) {
    for (uint32_t i = 0; i < memory.num_operands; ++i) {
        const Operand& operand = memory.operands[i];
        if (operand.is_poisoned == 0) continue;
        char* base = in_place ? operand.caller : moved(memory, operand);
        poison_axis(operand, base, 0, static_cast<int>(memory.poison));
    }
}

bool find_stray_write(const Memory& memory, Report& report) {
    const auto byte = static_cast<char>(memory.poison);
    for (uint32_t i = 0; i < memory.num_regions; ++i) {
        const Region& region = memory.regions[i];
        if (region.is_copied == 0 || region.is_written == 0) continue;
        const char* begin = region.reserved + kGuardBytes;
        const char* end = begin + room_bytes(region);
        for (const char* at = begin; at < end; ++at) {
            if (at == region.mapped) at += region.num_bytes;
            if (at >= end || *at == byte) continue;
            report.failure = Failure::fault;
            report.access = Access::write;
            report.has_address = 1;
            report.address = reinterpret_cast<uint64_t>(at);
            return true;
        }
    }
    return false;
}

void copy_back(const Memory& memory) {
    for (uint32_t i = 0; i < memory.num_regions; ++i) {
        const Region& region = memory.regions[i];
        if (region.is_written == 0 || region.is_copied == 0) continue;
        std::memcpy(region.caller, region.mapped, region.num_bytes);
    }
}

}  // namespace paged_interpret
