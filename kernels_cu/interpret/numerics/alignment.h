// Addresses that the device would refuse.
#pragma once

#include "../collective.h"

namespace paged_interpret {

inline void require_aligned(const volatile void* address, unsigned long bytes, const char* message,
                            Site site) {
    if (reinterpret_cast<unsigned long>(address) % bytes != 0) fail_at(message, site);
}

}  // namespace paged_interpret
