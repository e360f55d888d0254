// Workers claim chunks of the current loop until none is left, then sleep.
//
// A loop is open from when the caller has described it until its chunks are all claimed. A worker
// joins by raising the count of the members while the loop is open, so that one that wakes late
// touches nothing; the caller closes the loop and waits for the members to leave.
//
// The system may wake a worker on the CPU of the caller that wakes it, where it waits for as long
// as a loop takes: a worker may use all CPUs but the caller's.
#include "pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace paged_host {
namespace {

// About 4 us, which is less than it takes to sleep and be woken.
constexpr int kSpins = 128;
// Then about 20 us more in which whoever else is ready to run goes first: what a model computes on
// one thread between two loops, attention of one row at most, is over by then.
constexpr int kYields = 16, kSpinsOfYield = 16;
constexpr uint32_t kOpen = 1u << 31;
constexpr int kCacheLineBytes = 64;

struct Loop {
    Body body;
    void* context;
    int64_t num_items;
    int64_t chunk_items;
    int num_threads;
};

struct Pool;

struct Worker {
    Pool* pool;
    Worker* next;
    // Where it last was idle; negative until it has an id.
    std::atomic<int> cpu{-1};
    pid_t id = 0;
    // The caller's: the CPU it is kept off, what it may use apart from that, and what it was told.
    int avoided = -1;
    cpu_set_t allowed{}, told{};
};

struct Pool {
    std::mutex caller;
    int num_workers = 0;
    Worker* workers = nullptr;
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
bool spin_until(const Condition& condition, int num_spins) {
    for (int i = 0; i < num_spins; ++i) {
        if (condition()) return true;
        __builtin_ia32_pause();
    }
    return false;
}

// Waits a little, awake; says whether the condition has come to hold.
template <typename Condition>
bool await(const Condition& condition) {
    if (spin_until(condition, kSpins)) return true;
    for (int i = 0; i < kYields; ++i) {
        sched_yield();
        if (spin_until(condition, kSpinsOfYield)) return true;
    }
    return false;
}

// Keeps a worker off a CPU, if it may use others.
void keep_off(int cpu, Worker& worker) {
    const int last = worker.cpu.load(std::memory_order_acquire);
    if (last < 0 || cpu < 0 || cpu >= CPU_SETSIZE) return;
    if (worker.avoided == cpu && last != cpu) return;
    worker.avoided = cpu;
    cpu_set_t now;
    if (sched_getaffinity(worker.id, sizeof now, &now) != 0) return;
    // somebody else may have told it too
    if (!CPU_EQUAL(&now, &worker.told)) worker.allowed = now;
    worker.told = worker.allowed;
    CPU_CLR(cpu, &worker.told);
    if (CPU_COUNT(&worker.told) == 0) worker.told = worker.allowed;
    sched_setaffinity(worker.id, sizeof worker.told, &worker.told);
}

// Items of the next chunk: fewer towards the end, so that threads end together though they begin
// apart and are held up.
int64_t next_chunk(const Loop& loop, int64_t num_left) {
    constexpr int64_t kSharesPerThread = 2, kSmallestOfChunk = 4;
    const int64_t least = ceil_div(loop.chunk_items, kSmallestOfChunk);
    const int64_t share = ceil_div(num_left, loop.num_threads * kSharesPerThread);
    const int64_t wanted = std::min(loop.chunk_items, std::max(least, share));
    return std::min(wanted, num_left);
}

void claim_chunks(Pool& in) {
    const Loop loop = in.loop;
    int64_t begin = in.next.load(std::memory_order_relaxed);
    while (begin < loop.num_items) {
        const int64_t end = begin + next_chunk(loop, loop.num_items - begin);
        if (!in.next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
        loop.body(loop.context, begin, end);
        begin = in.next.load(std::memory_order_relaxed);
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

[[noreturn]] void work(Worker& self) {
    Pool& in = *self.pool;
    uint32_t seen = 0;
    self.id = static_cast<pid_t>(syscall(SYS_gettid));
    while (true) {
        self.cpu.store(sched_getcpu(), std::memory_order_release);
        const auto has_changed = [&] { return in.generation.load() != seen; };
        if (!await(has_changed)) {
            in.num_asleep.fetch_add(1);
            while (!has_changed()) sleep_while(in.generation, seen);
            in.num_asleep.fetch_sub(1);
        }
        seen = in.generation.load();
        if (!join(in)) continue;
        if (in.num_places.fetch_sub(1) > 0) claim_chunks(in);
        leave(in);
    }
}

void* start(void* worker) {
    work(*static_cast<Worker*>(worker));
}

// Where the system grants no more threads there are fewer workers.
void grow(Pool& in, int num_workers) {
    if (in.num_workers >= num_workers) return;
    sigset_t all, before;
    sigfillset(&all);
    // signals are for the threads that Python knows
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    for (; in.num_workers < num_workers; ++in.num_workers) {
        auto* worker = new Worker{&in, in.workers};
        if (pthread_create(&thread, nullptr, start, worker) != 0) {
            delete worker;
            break;
        }
        pthread_detach(thread);
        in.workers = worker;
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
    in.loop = Loop{body, context, num_items, chunk_items, num_threads};
    in.next.store(0, std::memory_order_relaxed);
    in.num_places.store(num_threads - 1, std::memory_order_relaxed);
    in.members.store(kOpen, std::memory_order_release);
    const int cpu = sched_getcpu();
    for (Worker* worker = in.workers; worker != nullptr; worker = worker->next) {
        keep_off(cpu, *worker);
    }
    in.generation.fetch_add(1);
    if (in.num_asleep.load() > 0) wake(in.generation, num_threads - 1);
    claim_chunks(in);
    uint32_t inside = in.members.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    const auto is_empty = [&] { return (inside = in.members.load(std::memory_order_acquire)) == 0; };
    while (inside != 0 && !await(is_empty)) sleep_while(in.members, inside);
}

}  // namespace paged_host
