// Where the kernel's printf goes: a pipe to the parent, or a buffer of this process.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

namespace paged_interpret {

class Output {
public:
    // fd < 0: keep the text.
    explicit Output(int fd) : fd_(fd) {}
    void write(const char* text, size_t num_bytes);
    // Moves up to capacity bytes of the text kept to buffer.
    size_t take(char* buffer, size_t capacity);

private:
    int fd_;
    std::mutex mutex_;
    std::string kept_;
};

}  // namespace paged_interpret
