// Runs launches for a caller in another process, each in a child of its own: a fault, a deadlock
// or a loop without end is the child's. The server is small, so that its forks are cheap; it loads
// each kernel library once and has no other state.
#include "server.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "observation.h"
#include "print.h"
#include "regions.h"
#include "sanitizer.h"
#include "signals.h"

namespace paged_interpret {

namespace {

constexpr size_t kMaxOrderBytes = 8192;
constexpr int kLoadFailed = -1;

// A kernel's library as loaded here, and its variables as they were then.
struct Loaded {
    Module module;
    std::vector<char> variables;
};

std::vector<char> read_variables(const Module& module) {
    std::vector<char> values;
    for (unsigned i = 0; i < module.num_writable; ++i) {
        const Module::Range& range = module.writable[i];
        values.insert(values.end(), range.begin, range.begin + range.num_bytes);
    }
    return values;
}

const Loaded* load(const std::string& path, Answer& answer) {
    static std::map<std::string, std::unique_ptr<Loaded>> libraries;
    std::unique_ptr<Loaded>& loaded = libraries[path];
    if (loaded != nullptr) return loaded.get();
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        answer.status = kLoadFailed;
        snprintf(answer.message, sizeof answer.message, "%s", dlerror());
        return nullptr;
    }
    loaded = std::make_unique<Loaded>();
    paged_describe_module(dlsym(library, "paged_entry_0"), &loaded->module);
    loaded->module.dynamic_shared =
        reinterpret_cast<char* (*)()>(dlsym(library, "paged_dynamic_shared_address"));
    loaded->variables = read_variables(loaded->module);
    return loaded.get();
}

// Bytes that differ from the library's own are set here, and told afterwards.
void exchange_variables(const Loaded& loaded, const Tables& tables, bool is_before) {
    const size_t num_bytes = loaded.variables.size();
    char* value = tables.base + tables.control->variables_offset;
    char* is_changed = value + num_bytes;
    const char* own = loaded.variables.data();
    for (unsigned i = 0; i < loaded.module.num_writable; ++i) {
        const Module::Range& range = loaded.module.writable[i];
        for (size_t j = 0; j < range.num_bytes; ++j, ++value, ++is_changed, ++own) {
            if (is_before) {
                if (*is_changed != 0) range.begin[j] = *value;
            } else {
                *value = range.begin[j];
                *is_changed = range.begin[j] != *own;
            }
        }
    }
}

[[noreturn]] void run_child(const Loaded& loaded, const Order& order) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char* base = static_cast<char*>(mmap(nullptr, order.num_control_bytes, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_POPULATE, kArenaFd, 0));
    if (base == MAP_FAILED) _exit(kShortOfMemoryStatus);
    const Tables tables = tables_of(base);
    Control& control = *tables.control;
    control.child = getpid();
    if (!enter_regions(tables, kArenaFd)) _exit(kShortOfMemoryStatus);
    exchange_variables(loaded, tables, true);
    std::vector<void*> arguments(control.num_arguments);
    for (uint32_t i = 0; i < control.num_arguments; ++i) {
        arguments[i] = base + tables.arguments[i].offset;
    }
    const Request request = request_of(control, loaded.module, arguments.data());
    Launch launch(request, control.report, true);
    set_current_launch(&launch);
    Output output(kTextFd);
    launch.output = &output;
    Observation observation(tables.operands, control.num_operands, tables.regions);
    if (control.is_observed != 0) launch.observation = &observation;
    std::unique_ptr<Sanitizer> sanitizer;
    if (control.is_sanitized != 0) sanitizer = std::make_unique<Sanitizer>(request, tables);
    current_sanitizer = sanitizer.get();
    watch_signals();
    run_grid(launch);
    if (!launch.has_failed()) report_stray_write(tables);
    if (launch.has_failed()) _exit(kFailedStatus);
    exchange_variables(loaded, tables, false);
    control.has_finished = 1;  // a kernel may end the process itself
    _exit(0);
}

// Waits for a child; kills it where the caller has gone.
int wait_for(pid_t child, int children_fd) {
    int status = 0;
    for (;;) {
        pollfd watched[] = {{kOrderFd, 0, 0}, {children_fd, POLLIN, 0}};
        poll(watched, 2, -1);
        if ((watched[0].revents & (POLLHUP | POLLERR)) != 0) {
            kill(child, SIGKILL);
            _exit(0);
        }
        signalfd_siginfo info;
        if ((watched[1].revents & POLLIN) != 0 && read(children_fd, &info, sizeof info) < 0) {
            continue;
        }
        if (waitpid(child, &status, WNOHANG) == child) return status;
    }
}

void carry_out(const Order& order, const std::string& path, int children_fd, Answer& answer) {
    const Loaded* loaded = load(path, answer);
    if (loaded == nullptr) return;
    reserve_blocks(order.num_workers, order.num_threads);
    const pid_t child = fork();
    if (child == 0) run_child(*loaded, order);
    if (child < 0) {
        answer.status = kLoadFailed;
        snprintf(answer.message, sizeof answer.message, "cannot start a process: %s",
                 strerror(errno));
        return;
    }
    answer.status = wait_for(child, children_fd);
}

}  // namespace

Request request_of(const Control& control, const Module& module, void** arguments) {
    Request request{};
    request.entry = reinterpret_cast<void (*)(void**)>(module.base + control.entry_offset);
    request.arguments = arguments;
    request.module = &module;
    request.shared_bytes = control.shared_bytes;
    std::memcpy(request.grid, control.grid, sizeof request.grid);
    std::memcpy(request.block, control.block, sizeof request.block);
    request.seed = control.seed;
    request.is_seeded = control.is_seeded;
    request.poison = control.poison;
    request.num_workers = control.num_workers;
    request.is_observed = control.is_observed;
    request.is_sanitized = control.is_sanitized;
    request.refuses_waits = control.refuses_waits;
    return request;
}

}  // namespace paged_interpret

#pragma GCC visibility push(default)
extern "C" int paged_serve() {
    using namespace paged_interpret;
    // An interrupt at the terminal is the caller's to handle.
    signal(SIGINT, SIG_IGN);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, nullptr);
    const int children_fd = signalfd(-1, &children, SFD_CLOEXEC);
    void* frame;
    backtrace(&frame, 1);  // loads the unwinder, which a fault handler must not do
    std::vector<char> message(kMaxOrderBytes);
    for (;;) {
        const ssize_t num_bytes = recv(kOrderFd, message.data(), message.size(), 0);
        if (num_bytes < 0 && errno == EINTR) continue;
        if (num_bytes <= static_cast<ssize_t>(sizeof(Order))) return 0;
        Order order;
        std::memcpy(&order, message.data(), sizeof order);
        const std::string path(message.data() + sizeof order,
                               static_cast<size_t>(num_bytes) - sizeof order);
        Answer answer{};
        carry_out(order, path, children_fd, answer);
        if (send(kOrderFd, &answer, sizeof answer, MSG_NOSIGNAL) < 0) return 0;
    }
}
#pragma GCC visibility pop
