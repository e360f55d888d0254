// Arrays that are zeros at first: only what is touched takes memory.
#pragma once

#include <cstddef>
#include <utility>

namespace paged_interpret {

// Memory for them. Ends the process where there is none.
void* map_zeros(size_t num_bytes);
void unmap_zeros(void* memory, size_t num_bytes);

template <class T>
class Zeros {
public:
    Zeros() = default;
    explicit Zeros(size_t size)
        : elements_(static_cast<T*>(map_zeros(size * sizeof(T)))), size_(size) {}
    ~Zeros() {
        if (elements_ != nullptr) unmap_zeros(elements_, size_ * sizeof(T));
    }
    Zeros(Zeros&& other) noexcept { *this = std::move(other); }
    Zeros& operator=(Zeros&& other) noexcept {
        std::swap(elements_, other.elements_);
        std::swap(size_, other.size_);
        return *this;
    }
    T& operator[](size_t index) const { return elements_[index]; }

private:
    T* elements_ = nullptr;
    size_t size_ = 0;
};

}  // namespace paged_interpret
