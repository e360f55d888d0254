// The library of a compiled kernel: its thread-local block and its variables.
#include <link.h>

#include <algorithm>

#include "launch.h"

namespace paged_interpret {

namespace {

struct Search {
    uintptr_t address;
    Module* module;
};

bool contains(const dl_phdr_info& library, uintptr_t address) {
    for (int i = 0; i < library.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = library.dlpi_phdr[i];
        const uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) {
            return true;
        }
    }
    return false;
}

// Writable memory begins behind what the loader makes read-only after relocation.
void add_writable(Module& module, const dl_phdr_info& library, const ElfW(Phdr)& segment) {
    uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
    const uintptr_t end = begin + segment.p_memsz;
    for (int i = 0; i < library.dlpi_phnum; ++i) {
        const ElfW(Phdr)& other = library.dlpi_phdr[i];
        if (other.p_type != PT_GNU_RELRO) continue;
        const uintptr_t relro_end = library.dlpi_addr + other.p_vaddr + other.p_memsz;
        if (relro_end > begin && relro_end <= end) begin = relro_end;
    }
    if (begin >= end || module.num_writable == kMaxWritableRanges) return;
    module.writable[module.num_writable++] = {reinterpret_cast<char*>(begin), end - begin};
}

int describe(dl_phdr_info* library, size_t, void* argument) {
    const auto& search = *static_cast<Search*>(argument);
    if (!contains(*library, search.address)) return 0;
    Module& module = *search.module;
    module.base = library->dlpi_addr;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = library->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            module.num_bytes = std::max<uint64_t>(module.num_bytes,
                                                  segment.p_vaddr + segment.p_memsz);
        }
        if (segment.p_type == PT_TLS) {
            module.tls_module = library->dlpi_tls_modid;
            module.tls_bytes = segment.p_memsz;
        }
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) {
            add_writable(module, *library, segment);
        }
    }
    return 1;
}

}  // namespace

}  // namespace paged_interpret

// Describes the library that holds an address. Returns 0 where none does.
#pragma GCC visibility push(default)
extern "C" int paged_describe_module(const void* address, paged_interpret::Module* module) {
    paged_interpret::Search search{reinterpret_cast<uintptr_t>(address), module};
    return dl_iterate_phdr(paged_interpret::describe, &search);
}
#pragma GCC visibility pop
