// memcpy and its kin in a kernel that is compiled to be observed: the compiler, which expands them
// itself, would not tell of them.
#pragma once

#include <cstddef>

namespace paged_interpret {

#pragma GCC visibility push(default)
void* observed_memcpy(void* to, const void* from, size_t num_bytes);
void* observed_memset(void* to, int byte, size_t num_bytes);
#pragma GCC visibility pop

}  // namespace paged_interpret
