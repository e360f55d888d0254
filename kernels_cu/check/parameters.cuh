// Whether a kernel's parameters take what its specification passes, known when it is compiled.
//
// Compiled behind every specified source, for both backends. A parameter takes a value of its own
// type, and:
//  - an integer, an enumeration or a bool: any integer of its size;
//  - an unsigned integer of eight bytes: an address;
//  - a struct that is no number: any number of its size;
//  - a pointer to integers: integers of their size;
//  - a pointer to void, char, unsigned integers or vectors of integers: the bits of any elements;
//  - a pointer to vectors, or to any struct with a member x: the elements that x takes;
//  - a pointer to another struct that is no number: any elements;
//  - a pointer to pointers: addresses as integers of eight bytes.
// Names begin with paged_, since macros of the source are in force. Python reads them, and the
// types, in the compiler's messages (paged/kernel/parameters.py).
#pragma once

namespace paged_parameters {

// A stand-in for what is passed in a layout of its own, and for what is not compared.
struct paged_any;

template <class... paged_types>
struct paged_list;

template <bool paged_is_compared, class paged_types>
struct paged_when {
    using paged_result = paged_types;
};
template <class paged_types>
struct paged_when<false, paged_types> {
    using paged_result = paged_list<>;
};

template <class... paged_types>
paged_list<paged_types...> paged_taken_by(void (*)(paged_types...));

template <class paged_type>
struct paged_bare {
    using paged_result = paged_type;
};
template <class paged_type>
struct paged_bare<const paged_type> : paged_bare<paged_type> {};
template <class paged_type>
struct paged_bare<volatile paged_type> : paged_bare<paged_type> {};
template <class paged_type>
struct paged_bare<const volatile paged_type> : paged_bare<paged_type> {};
template <class paged_type>
struct paged_bare<paged_type&> : paged_bare<paged_type> {};

template <class paged_type>
struct paged_element : paged_bare<paged_type> {};
template <class paged_type, unsigned long paged_size>
struct paged_element<paged_type[paged_size]> : paged_element<paged_type> {};

template <class paged_a, class paged_b>
constexpr bool paged_same = false;
template <class paged_a>
constexpr bool paged_same<paged_a, paged_a> = true;

template <class paged_type, class... paged_others>
constexpr bool paged_one_of = (paged_same<paged_type, paged_others> || ...);

template <class paged_type>
constexpr bool paged_unsigned = paged_one_of<paged_type, unsigned char, unsigned short, unsigned,
                                             unsigned long, unsigned long long>;
template <class paged_type>
constexpr bool paged_bits = paged_unsigned<paged_type> || paged_one_of<paged_type, void, char>;
template <class paged_type>
constexpr bool paged_integer =
    paged_unsigned<paged_type> || __is_enum(paged_type) ||
    paged_one_of<paged_type, bool, char, signed char, short, int, long, long long>;

// Numbers of a class, such as __half, become floats; structs and vectors do not.
template <class paged_type>
constexpr auto paged_number(int) -> decltype(static_cast<float>(*(paged_type*)nullptr), true) {
    return true;
}
template <class paged_type>
constexpr bool paged_number(...) {
    return false;
}

template <class paged_type>
auto paged_member_x(int) -> typename paged_bare<decltype(((paged_type*)nullptr)->x)>::paged_result;
template <class paged_type>
void paged_member_x(...);

template <class paged_taken, class paged_given>
constexpr bool paged_points_to() {
    if constexpr (paged_same<paged_taken, paged_given> || paged_bits<paged_taken>) {
        return true;
    } else if constexpr (paged_integer<paged_taken>) {
        return paged_integer<paged_given> && sizeof(paged_taken) == sizeof(paged_given);
    } else if constexpr (__is_class(paged_taken) || __is_union(paged_taken)) {
        using paged_x = decltype(paged_member_x<paged_taken>(0));
        if constexpr (paged_same<paged_x, void>) {
            return !paged_number<paged_taken>(0);
        } else {
            return paged_integer<paged_x> || paged_points_to<paged_x, paged_given>();
        }
    } else if constexpr (paged_same<paged_taken, float> || paged_same<paged_taken, double>) {
        return false;
    } else {
        return paged_integer<paged_given> && sizeof(paged_given) == sizeof(void*);
    }
}

template <class paged_taken, class paged_given>
struct paged_fits {
    static constexpr bool paged_is_alike =
        paged_integer<paged_taken>
            ? paged_integer<paged_given>
            : __is_class(paged_taken) && !__is_class(paged_given) && !paged_number<paged_taken>(0);
    static constexpr bool paged_value =
        paged_same<paged_taken, paged_given> ||
        (paged_is_alike && sizeof(paged_taken) == sizeof(paged_given));
};
template <class paged_taken, class paged_given>
struct paged_fits<paged_taken*, paged_given*> {
    static constexpr bool paged_value =
        paged_points_to<typename paged_element<paged_taken>::paged_result,
                        typename paged_bare<paged_given>::paged_result>();
};
template <class paged_taken, class paged_given>
struct paged_fits<paged_taken, paged_given*> {
    static constexpr bool paged_value =
        paged_unsigned<paged_taken> && sizeof(paged_taken) == sizeof(void*);
};
template <class paged_taken>
struct paged_fits<paged_taken, paged_any> {
    static constexpr bool paged_value = true;
};

// The messages of both assertions tell the numbers of the kernel and of the parameter, from 0, and
// the kernel's types.
template <int paged_entry, int paged_index, class paged_given>
struct paged_value {
    template <class paged_taken>
    struct paged_into {
        static_assert(paged_fits<paged_taken, paged_given>::paged_value,
                      "a parameter of the kernel does not take what its specification passes");
        static constexpr bool paged_is_checked = true;
    };
};

template <int paged_entry, int paged_size>
struct paged_values {
    template <int paged_taken_size, class... paged_taken>
    struct paged_into {
        static_assert(paged_taken_size == paged_size,
                      "the kernel has other parameters than its specification passes");
        static constexpr bool paged_is_checked = true;
    };
};

// Compares two lists of types of one length, from number paged_index on.
template <int paged_entry, int paged_index, class paged_given, class paged_taken>
struct paged_pairs {
    static constexpr bool paged_is_checked = true;
};
template <int paged_entry, int paged_index, class paged_given, class... paged_givens,
          class paged_taken, class... paged_takens>
struct paged_pairs<paged_entry, paged_index, paged_list<paged_given, paged_givens...>,
                   paged_list<paged_taken, paged_takens...>> {
    using paged_first = typename paged_value<paged_entry, paged_index, paged_given>::
        template paged_into<paged_taken>;
    using paged_others = paged_pairs<paged_entry, paged_index + 1, paged_list<paged_givens...>,
                                     paged_list<paged_takens...>>;
    static constexpr bool paged_is_checked =
        paged_first::paged_is_checked && paged_others::paged_is_checked;
};

// Instantiated for each kernel, with the types that are passed and those it takes.
template <int paged_entry, class paged_given, class paged_taken>
struct paged_check;
template <int paged_entry, class... paged_given, class... paged_taken>
struct paged_check<paged_entry, paged_list<paged_given...>, paged_list<paged_taken...>> {
    static constexpr int paged_size = sizeof...(paged_given);
    static constexpr int paged_taken_size = sizeof...(paged_taken);
    using paged_values_into = typename paged_values<paged_entry, paged_size>::
        template paged_into<paged_taken_size, paged_taken...>;
    static constexpr bool paged_is_checked = paged_values_into::paged_is_checked;
    using paged_compared = typename paged_when<paged_size == paged_taken_size,
                                               paged_list<paged_taken...>>::paged_result;
    static constexpr bool paged_are_checked =
        paged_pairs<paged_entry, 0, paged_list<paged_given...>, paged_compared>::paged_is_checked;
};

}  // namespace paged_parameters
