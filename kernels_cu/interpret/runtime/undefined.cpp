// What g++ calls in a sanitized kernel where an index leaves its array or an address its alignment:
// our own functions of these names. The data that they are given is laid out by the compiler.
#include <cstdint>

#include "block.h"
#include "report.h"

namespace paged_interpret {

namespace {

struct Location {
    const char* file;
    uint32_t line;
    uint32_t column;
};

struct TypeName {
    uint16_t kind;
    uint16_t info;
    char name[1];
};

struct BoundsData {
    Location location;
    const TypeName* array;
    const TypeName* index;
};

struct AlignmentData {
    Location location;
    const TypeName* type;
    unsigned char log_alignment;
    unsigned char kind;
};

Site site_of(const Location& location) {
    return Site{location.file, static_cast<int>(location.line),
                static_cast<int>(location.column)};
}

}  // namespace

}  // namespace paged_interpret

#pragma GCC visibility push(default)
extern "C" {

[[noreturn]] void __ubsan_handle_out_of_bounds_abort(const paged_interpret::BoundsData* data,
                                                     uint64_t index) {
    paged_interpret::fail_format(paged_interpret::site_of(data->location),
                                 "index %lld is outside of an array of type %s",
                                 static_cast<long long>(index), data->array->name);
}

[[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(
    const paged_interpret::AlignmentData* data, uint64_t address) {
    paged_interpret::fail_format(
        paged_interpret::site_of(data->location),
        "misaligned access: address %#llx of a %s is no multiple of %u",
        static_cast<unsigned long long>(address), data->type->name, 1u << data->log_alignment);
}
}
#pragma GCC visibility pop
