// Workers claim chunks of the current loop until none is left, then sleep.
//
// A loop is open from when the caller has described it until its chunks are all claimed. A worker
// joins by raising the count of the members while the loop is open, so that one that wakes late
// touches nothing; the caller closes the loop and waits for the members to leave.
//
// The system wakes a thread where it last ran, on the caller's CPU too, and moves it away only
// after as long as a loop takes: a worker leaves by itself.
#include "pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace paged_host {
namespace {

// About 5 us, which is less than it takes to sleep and be woken.
constexpr int kSpins = 128;
constexpr uint32_t kOpen = 1u << 31;
constexpr int kCacheLineBytes = 64;

struct Loop {
    Body body;
    void* context;
    int64_t num_items;
    int64_t chunk_items;
    int cpu;  // where the caller began it
};

struct Pool {
    std::mutex caller;
    int num_workers = 0;
    Loop loop{};
    alignas(kCacheLineBytes) std::atomic<int64_t> next{0};
    // Whether the loop is open, and how many workers are in it.
    alignas(kCacheLineBytes) std::atomic<uint32_t> members{0};
    // Places left in the loop: fewer threads may be wanted than there are workers.
    std::atomic<int> num_places{0};
    // Raised with every loop: what idle workers watch.
    alignas(kCacheLineBytes) std::atomic<uint32_t> generation{0};
    std::atomic<uint32_t> num_asleep{0};
};

// Never freed: workers may outlive static objects. After a fork the child starts anew.
Pool* pool = new Pool;

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
    static_assert(sizeof(word) == sizeof(uint32_t), "a futex is a plain word of 32 bits");
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake(std::atomic<uint32_t>& word, int num_threads) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, num_threads, nullptr, nullptr, 0);
}

template <typename Condition>
bool spin_until(const Condition& condition) {
    for (int i = 0; i < kSpins; ++i) {
        if (condition()) return true;
        __builtin_ia32_pause();
    }
    return false;
}

// Moves this thread to another of the CPUs that it may use, and lets it use all of them again.
void leave_cpu(int cpu) {
    cpu_set_t allowed;
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getcpu() != cpu) return;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    cpu_set_t others = allowed;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) == 0) return;
    sched_setaffinity(0, sizeof others, &others);
    sched_setaffinity(0, sizeof allowed, &allowed);
}

void claim_chunks(Pool& in) {
    const Loop loop = in.loop;
    while (true) {
        const int64_t begin = in.next.fetch_add(loop.chunk_items, std::memory_order_relaxed);
        if (begin >= loop.num_items) return;
        const int64_t rest = loop.num_items - begin;
        loop.body(loop.context, begin, begin + (rest < loop.chunk_items ? rest : loop.chunk_items));
    }
}

bool join(Pool& in) {
    uint32_t seen = in.members.load(std::memory_order_acquire);
    do {
        if ((seen & kOpen) == 0) return false;
    } while (!in.members.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel));
    return true;
}

void leave(Pool& in) {
    // The last one out of a closed loop may find its caller asleep.
    if (in.members.fetch_sub(1, std::memory_order_acq_rel) == 1) wake(in.members, 1);
}

[[noreturn]] void work(Pool& in) {
    uint32_t seen = 0;
    while (true) {
        const auto has_changed = [&] { return in.generation.load() != seen; };
        if (!spin_until(has_changed)) {
            in.num_asleep.fetch_add(1);
            while (!has_changed()) sleep_while(in.generation, seen);
            in.num_asleep.fetch_sub(1);
        }
        seen = in.generation.load();
        if (!join(in)) continue;
        if (in.num_places.fetch_sub(1) > 0) {
            leave_cpu(in.loop.cpu);
            claim_chunks(in);
        }
        leave(in);
    }
}

void* start(void* in) {
    work(*static_cast<Pool*>(in));
}

// Where the system grants no more threads there are fewer workers.
void grow(Pool& in, int num_workers) {
    if (in.num_workers >= num_workers) return;
    sigset_t all, before;
    sigfillset(&all);
    // signals are for the threads that Python knows
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    while (in.num_workers < num_workers && pthread_create(&thread, nullptr, start, &in) == 0) {
        pthread_detach(thread);
        ++in.num_workers;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The child of a fork has no workers, and its copy of the pool may be in the midst of a loop.
[[maybe_unused]] const int on_fork = pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });

}  // namespace

void run_parallel(int num_threads, int64_t num_items, int64_t chunk_items, Body body,
                  void* context) {
    if (num_items <= 0) return;
    Pool& in = *pool;
    const int64_t num_chunks = ceil_div(num_items, chunk_items);
    if (num_threads > num_chunks) num_threads = static_cast<int>(num_chunks);
    std::unique_lock<std::mutex> lock(in.caller, std::defer_lock);
    if (num_threads <= 1 || !lock.try_lock()) return body(context, 0, num_items);
    grow(in, num_threads - 1);
    in.loop = Loop{body, context, num_items, chunk_items, sched_getcpu()};
    in.next.store(0, std::memory_order_relaxed);
    in.num_places.store(num_threads - 1, std::memory_order_relaxed);
    in.members.store(kOpen, std::memory_order_release);
    in.generation.fetch_add(1);
    if (in.num_asleep.load() > 0) wake(in.generation, num_threads - 1);
    claim_chunks(in);
    uint32_t inside = in.members.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    const auto is_empty = [&] { return (inside = in.members.load(std::memory_order_acquire)) == 0; };
    while (inside != 0 && !spin_until(is_empty)) sleep_while(in.members, inside);
}

}  // namespace paged_host
