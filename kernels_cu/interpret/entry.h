// Calls a kernel with arguments given as one pointer each, by the kernel's own parameter types.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace paged_interpret {

template <class... Parameters, size_t... i>
inline void call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<i...>) {
    (void)arguments;
    kernel(*static_cast<std::remove_reference_t<Parameters>*>(arguments[i])...);
}

template <class... Parameters>
inline void call(void (*kernel)(Parameters...), void** arguments) {
    call(kernel, arguments, std::index_sequence_for<Parameters...>());
}

// The number of bytes of each parameter, so that arguments can be checked before a launch.
template <class... Parameters>
inline size_t parameter_bytes(void (*)(Parameters...), size_t* bytes, size_t capacity) {
    const size_t sizes[] = {sizeof(Parameters)..., 0};
    for (size_t i = 0; i < sizeof...(Parameters) && i < capacity; ++i) bytes[i] = sizes[i];
    return sizeof...(Parameters);
}

}  // namespace paged_interpret
