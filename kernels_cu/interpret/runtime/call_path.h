// The calls that lead to where a lane is, as one number: a place in a function that is called from
// two others is two places.
#pragma once

#include <cstdint>

namespace paged_interpret {

struct CallPath {
    static constexpr unsigned kMaxDepth = 32;  // deeper calls are not told apart
    static constexpr uint64_t kFactor = 0xd1342543de82ef95u;

    uint64_t hash;
    unsigned depth;
    uint64_t outer[kMaxDepth];

    void clear() {
        hash = 0;
        depth = 0;
    }
    void enter(const void* caller) {
        if (depth < kMaxDepth) {
            outer[depth] = hash;
            hash = (hash ^ reinterpret_cast<uint64_t>(caller)) * kFactor;
        }
        ++depth;
    }
    void leave() {
        if (--depth < kMaxDepth) hash = outer[depth];
    }
};

}  // namespace paged_interpret
