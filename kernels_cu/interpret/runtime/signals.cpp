// Faults in the child of an isolated launch, and its parent's request to stop.
#include "signals.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "block.h"
#include "launch.h"

namespace paged_interpret {

namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t kHandlerStackBytes = 64 * 1024;
constexpr greg_t kPageFaultWrite = 2;

Report& report_here() { return *current_launch()->report; }

[[noreturn]] void wait_for_the_end() {
    for (;;) pause();
}

void record_frames(Report& report, const ucontext_t& context) {
    record_frame(report, static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]));
    // careful: may fault itself on a broken stack; by then the report says what matters.
    record_callers(report);
}

void on_fault(int signal, siginfo_t* info, void* raw_context) {
    const auto& context = *static_cast<const ucontext_t*>(raw_context);
    Report& report = report_here();
    if (!claim_report(report)) wait_for_the_end();
    report.failure = Failure::fault;
    report.signal = signal;
    if (signal == SIGSEGV || signal == SIGBUS) {
        // An address that no pointer can have is not told to the process.
        report.has_address = info->si_code != SI_KERNEL;
        report.address = reinterpret_cast<uint64_t>(info->si_addr);
        const greg_t error = context.uc_mcontext.gregs[REG_ERR];
        report.access = (error & kPageFaultWrite) != 0 ? Access::write : Access::read;
        const bool has_stack = current_block != nullptr && current_block->self().stack != nullptr;
        if (has_stack && current_block->self().stack->guard_contains(info->si_addr)) {
            report.failure = Failure::overflow;
        }
    }
    record_frames(report, context);
    _exit(kFailedStatus);
}

void on_stop(int signal, siginfo_t*, void* raw_context) {
    if (current_lane == nullptr && interrupt_worker(signal)) return;
    Report& report = report_here();
    if (!claim_report(report)) wait_for_the_end();
    report.failure = Failure::stopped;
    record_frames(report, *static_cast<const ucontext_t*>(raw_context));
    if (current_block != nullptr) current_block->describe_lanes(report.text, sizeof report.text);
    _exit(kFailedStatus);
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    for (const int fault : kFaults) sigdelset(&action.sa_mask, fault);
    sigaction(signal, &action, nullptr);
}

}  // namespace

void watch_stack() {
    void* memory = mmap(nullptr, kHandlerStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(kShortOfMemoryStatus);
    const stack_t stack{memory, 0, kHandlerStackBytes};
    sigaltstack(&stack, nullptr);
}

void watch_signals() {
    // The handlers of the parent, Python's among them, must not run here.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &standard, nullptr);
    for (const int fault : kFaults) handle(fault, on_fault);
    handle(kStopSignal, on_stop);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    watch_stack();
}

}  // namespace paged_interpret
