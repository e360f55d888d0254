// What Python calls. A job is one launch: begun, waited for, taken leave of.
#include <fcntl.h>
#include <poll.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "isolation.h"
#include "job.h"
#include "launch.h"
#include "print.h"

namespace paged_interpret {

Job::Job(const Request& request, Memory& memory, bool isolated)
    : request_(request), memory_(memory), is_isolated_(isolated) {
    size_t variable_bytes = 0;
    const Module& module = *request.module;
    for (unsigned i = 0; i < module.num_writable; ++i) {
        variable_bytes += module.writable[i].num_bytes;
    }
    shared_bytes_ = sizeof(Report) + variable_bytes;
    void* shared = mmap(nullptr, shared_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    if (shared == MAP_FAILED) throw std::bad_alloc();
    report_ = new (shared) Report{};
    variables_ = static_cast<char*>(shared) + sizeof(Report);
}

Job::~Job() {
    if (child_ > 0) {
        kill(child_, SIGKILL);
        reap(0);
    }
    if (text_fd_ >= 0) close(text_fd_);
    if (is_isolated_) unmap_regions(memory_);
    munmap(report_, shared_bytes_);
}

void Job::run_here() {
    poison_operands(memory_, true);
    Launch launch(request_, *report_, false);
    launch.output = &kept_text_;
    run_grid(launch);
}

bool Job::start_child() {
    if (!map_regions(memory_)) return false;
    poison_operands(memory_, false);
    Launch launch(request_, *report_, true);
    reserve_blocks(launch);
    // Loads the unwinder, which a fault handler must not do.
    void* frame;
    backtrace(&frame, 1);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(kFailedStatus);
        run_child(launch, ends[1]);
    }
    close(ends[1]);
    text_fd_ = ends[0];
    return child_ > 0;
}

void Job::run_child(Launch& launch, int text_fd) {
    watch_signals();
    enter_regions(memory_);
    Output output(text_fd);
    launch.output = &output;
    run_grid(launch);
    if (launch.has_failed()) _exit(kFailedStatus);
    char* kept = variables_;
    const Module& module = *request_.module;
    for (unsigned i = 0; i < module.num_writable; ++i) {
        const Module::Range& range = module.writable[i];
        std::memcpy(kept, range.begin, range.num_bytes);
        kept += range.num_bytes;
    }
    _exit(0);
}

// Returns whether the child has ended; waits for it unless flags is WNOHANG.
bool Job::reap(int flags) {
    pid_t ended = 0;
    do {
        ended = waitpid(child_, &status_, flags);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) return false;
    child_ = -1;
    return true;
}

long Job::read_text(char* buffer, size_t capacity, int timeout_ms) {
    if (!is_isolated_) return static_cast<long>(kept_text_.take(buffer, capacity));
    pollfd watched{text_fd_, POLLIN, 0};
    // The pipe closes with the child, but another child may hold a copy of its other end.
    const bool has_ended = child_ <= 0;
    const int num_ready = poll(&watched, 1, has_ended ? 0 : timeout_ms);
    if (num_ready > 0) {
        const ssize_t num_bytes = read(text_fd_, buffer, capacity);
        if (num_bytes > 0) return num_bytes;
        if (num_bytes == 0 && !has_ended) reap(0);
        return num_bytes == 0 ? kEnded : kRunning;
    }
    if (has_ended) return kEnded;
    reap(WNOHANG);
    return kRunning;
}

void Job::stop() {
    if (child_ > 0) kill(child_, kStopSignal);
}

int Job::finish() {
    if (!is_isolated_) return report_->is_claimed != 0 ? kFailedStatus : 0;
    if (child_ > 0) {
        kill(child_, SIGKILL);
        reap(0);
    }
    if (WIFSIGNALED(status_)) return report_->is_claimed != 0 ? kFailedStatus : -WTERMSIG(status_);
    if (WEXITSTATUS(status_) != 0) return kFailedStatus;
    if (find_stray_write(memory_, *report_)) return kFailedStatus;
    copy_back(memory_);
    const char* kept = variables_;
    const Module& module = *request_.module;
    for (unsigned i = 0; i < module.num_writable; ++i) {
        std::memcpy(module.writable[i].begin, kept, module.writable[i].num_bytes);
        kept += module.writable[i].num_bytes;
    }
    return 0;
}

}  // namespace paged_interpret

using paged_interpret::Job;

#pragma GCC visibility push(default)
extern "C" {

// Starts a launch, or runs it to its end where it is not isolated. Null: out of memory.
Job* paged_begin_job(const paged_interpret::Request* request, paged_interpret::Memory* memory,
                     int is_isolated) {
    try {
        auto job = std::make_unique<Job>(*request, *memory, is_isolated != 0);
        if (is_isolated == 0) {
            job->run_here();
        } else if (!job->start_child()) {
            return nullptr;
        }
        return job.release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

// Text that the kernel has printed: its length; 0: it has ended; -1: none yet.
long paged_read_text(Job* job, char* buffer, size_t capacity, int timeout_ms) {
    return job->read_text(buffer, capacity, timeout_ms);
}

void paged_stop_job(Job* job) { job->stop(); }

// How the launch ended: 0 well, with outputs copied back; below 0 by a signal; else see the report.
int paged_finish_job(Job* job) { return job->finish(); }

const paged_interpret::Report* paged_job_report(Job* job) { return &job->report(); }

void paged_end_job(Job* job) { delete job; }
}
#pragma GCC visibility pop
