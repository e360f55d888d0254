// One launch from its begin to its end, with the child process that runs it.
#pragma once

#include <sys/types.h>

#include "isolation.h"
#include "print.h"

namespace paged_interpret {

class Job {
public:
    static constexpr long kEnded = 0;
    static constexpr long kRunning = -1;

    // The request and the memory must outlive the job.
    Job(const Request& request, Memory& memory, bool isolated);
    // Kills a child that still runs, and unmaps all memory.
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    void run_here();
    bool start_child();
    long read_text(char* buffer, size_t capacity, int timeout_ms);
    void stop();
    int finish();
    const Report& report() const { return *report_; }

private:
    [[noreturn]] void run_child(Launch& launch, int text_fd);
    bool reap(int flags);

    const Request& request_;
    Memory& memory_;
    const bool is_isolated_;
    Report* report_;
    char* variables_;  // of the kernel's library, as the child left them
    size_t shared_bytes_;
    pid_t child_ = -1;
    int status_ = 0;
    int text_fd_ = -1;
    Output kept_text_{-1};
};

}  // namespace paged_interpret
