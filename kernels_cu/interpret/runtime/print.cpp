// printf of device code.
#include "print.h"

#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

#include "../device.h"
#include "launch.h"

namespace paged_interpret {

void Output::write(const char* text, size_t num_bytes) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (fd_ < 0) {
        kept_.append(text, num_bytes);
        return;
    }
    while (num_bytes > 0) {
        const ssize_t written = ::write(fd_, text, num_bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) _exit(0);  // the parent has given the launch up
        text += written;
        num_bytes -= static_cast<size_t>(written);
    }
}

size_t Output::take(char* buffer, size_t capacity) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const size_t num_bytes = kept_.copy(buffer, capacity);
    kept_.erase(0, num_bytes);
    return num_bytes;
}

int print(const char* format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0) return length;
    Output& output = *current_launch()->output;
    if (static_cast<size_t>(length) < sizeof line) {
        output.write(line, static_cast<size_t>(length));
        return length;
    }
    std::vector<char> text(static_cast<size_t>(length) + 1);
    va_start(arguments, format);
    vsnprintf(text.data(), text.size(), format, arguments);
    va_end(arguments);
    output.write(text.data(), static_cast<size_t>(length));
    return length;
}

}  // namespace paged_interpret
