// A read-modify-write of two, four or eight bytes by compare and exchange.
#pragma once

#include "bits.h"

namespace paged_interpret {

template <int bytes>
struct WordOf;
template <>
struct WordOf<2> {
    using type = unsigned short;
};
template <>
struct WordOf<4> {
    using type = unsigned int;
};
template <>
struct WordOf<8> {
    using type = unsigned long long;
};

// Part of the operation, and no access of its own where those of a kernel are observed.
template <class Word>
__attribute__((no_sanitize("thread"))) inline Word first_guess(const Word* word) {
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

// Replaces *address by change(*address) and returns what was there before.
template <class T, class Change>
inline T atomic_update(T* address, Change change) {
    using Word = typename WordOf<sizeof(T)>::type;
    auto* word = reinterpret_cast<Word*>(address);
    Word old = first_guess(word);
    while (!__atomic_compare_exchange_n(word, &old, bit_cast<Word>(change(bit_cast<T>(old))), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return bit_cast<T>(old);
}

}  // namespace paged_interpret
