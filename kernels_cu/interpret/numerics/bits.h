// Reinterpreting bytes, without which no number format can be written.
#pragma once

namespace paged_interpret {

// std::bit_cast, which C++17 lacks.
template <class To, class From>
inline To bit_cast(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the number of bytes");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}

}  // namespace paged_interpret
