// Poison in shared memory.
#include "shared_memory.h"

#include <cstring>

#include "../device.h"
#include "../dynamic_shared.h"

struct TlsIndex {
    unsigned long module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex*);

namespace paged_interpret {

SharedMemory::SharedMemory(const Request& request) : request_(request) {
    const Module& module = *request.module;
    begin_ = end_ = dynamic_ = nullptr;
    if (module.tls_bytes == 0) return;
    TlsIndex index{module.tls_module, 0};
    begin_ = static_cast<char*>(__tls_get_addr(&index));
    end_ = begin_ + module.tls_bytes;
    if (module.dynamic_shared != nullptr) dynamic_ = module.dynamic_shared();
}

void SharedMemory::poison() const {
    const auto byte = static_cast<int>(request_.poison);
    if (dynamic_ == nullptr) {
        if (begin_ != nullptr) std::memset(begin_, byte, static_cast<size_t>(end_ - begin_));
        return;
    }
    char* behind = dynamic_ + kMaxDynamicSharedBytes + kSharedMarginBytes;
    std::memset(begin_, byte, static_cast<size_t>(dynamic_ - begin_));
    std::memset(dynamic_, byte, request_.shared_bytes + kSharedMarginBytes);
    std::memset(behind, byte, static_cast<size_t>(end_ - behind));
}

bool SharedMemory::contains(const void* address) const {
    const auto* byte = static_cast<const char*>(address);
    return byte >= begin_ && byte < end_;
}

size_t SharedMemory::num_bytes_past_end() const {
    if (dynamic_ == nullptr) return 0;
    const char* margin = dynamic_ + request_.shared_bytes;
    const auto byte = static_cast<char>(request_.poison);
    size_t num_bytes = kSharedMarginBytes;
    while (num_bytes > 0 && margin[num_bytes - 1] == byte) --num_bytes;
    return num_bytes;
}

bool is_shared(const void* address) {
    return SharedMemory(*current_launch()->request).contains(address);
}

}  // namespace paged_interpret
