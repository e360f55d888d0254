// The blocks of a grid, spread over OS threads.
#include "launch.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "block.h"
#include "observation.h"
#include "signals.h"

namespace paged_interpret {

namespace {

// Blocks keep their stacks from launch to launch; a running launch owns those it takes.
std::mutex idle_mutex;
std::vector<std::unique_ptr<Block>> idle_blocks;

std::unique_ptr<Block> take_block() {
    const std::lock_guard<std::mutex> guard(idle_mutex);
    if (idle_blocks.empty()) return std::make_unique<Block>();
    std::unique_ptr<Block> block = std::move(idle_blocks.back());
    idle_blocks.pop_back();
    return block;
}

void give_back(std::unique_ptr<Block> block) {
    const std::lock_guard<std::mutex> guard(idle_mutex);
    idle_blocks.push_back(std::move(block));
}

struct Worker {
    Launch* launch;
    std::unique_ptr<Block> block;
    std::unique_ptr<Observer> observer;  // null: the launch is not observed
    pthread_t thread;
    std::atomic<int> is_running;
};

// Workers of the launch of this process, for the handler that stops an isolated one.
Worker* watched_workers = nullptr;
unsigned num_watched_workers = 0;

void* run_worker(void* argument) {
    Worker& worker = *static_cast<Worker*>(argument);
    Launch& launch = *worker.launch;
    set_current_launch(&launch);
    set_current_observer(worker.observer.get());
    worker.is_running = 1;
    const uint64_t begin_ns = thread_ns();
    for (;;) {
        const uint64_t position = launch.next_block.fetch_add(1);
        if (position >= launch.num_blocks || launch.has_failed()) break;
        worker.block->run(launch, launch.order.empty() ? position : launch.order[position]);
    }
    launch.report->processor_ns += thread_ns() - begin_ns;
    set_current_observer(nullptr);
    worker.is_running = 0;
    return nullptr;
}

void* run_thread(void* argument) {
    if (static_cast<Worker*>(argument)->launch->is_isolated) watch_stack();
    return run_worker(argument);
}

}  // namespace

uint64_t mix(uint64_t x) {
    // splitmix64 (Steele, Lea and Flood 2014).
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

Launch::Launch(const Request& what, Report& where, bool isolated)
    : request(&what), report(&where), is_isolated(isolated) {
    num_blocks = uint64_t{what.grid[0]} * what.grid[1] * what.grid[2];
    num_threads = what.block[0] * what.block[1] * what.block[2];
    num_workers = static_cast<unsigned>(std::min<uint64_t>(what.num_workers, num_blocks));
    if (what.is_seeded == 0) return;
    order.resize(num_blocks);
    for (uint64_t i = 0; i < num_blocks; ++i) order[i] = i;
    for (uint64_t i = num_blocks; i > 1; --i) {
        std::swap(order[i - 1], order[mix(what.seed + i) % i]);
    }
}

void reserve_blocks(unsigned num_workers, unsigned num_threads) {
    std::vector<std::unique_ptr<Block>> blocks;
    for (unsigned i = 0; i < num_workers; ++i) {
        blocks.push_back(take_block());
        blocks.back()->reserve(num_threads);
    }
    for (auto& block : blocks) give_back(std::move(block));
}

void run_grid(Launch& launch) {
    std::vector<Worker> workers(launch.num_workers);
    for (Worker& worker : workers) {
        worker.launch = &launch;
        worker.block = take_block();
        if (launch.observation == nullptr) continue;
        const bool is_profiled = launch.request->profile != nullptr;
        worker.observer = std::make_unique<Observer>(*launch.observation, is_profiled);
    }
    if (launch.is_isolated) {
        watched_workers = workers.data();
        num_watched_workers = launch.num_workers;
    }
    unsigned num_started = 1;  // this OS thread is the first worker
    for (; num_started < launch.num_workers; ++num_started) {
        Worker& worker = workers[num_started];
        if (pthread_create(&worker.thread, nullptr, run_thread, &worker) != 0) break;
    }
    run_worker(&workers[0]);
    for (unsigned i = 1; i < num_started; ++i) pthread_join(workers[i].thread, nullptr);
    for (Worker& worker : workers) {
        give_back(std::move(worker.block));
        if (worker.observer == nullptr) continue;
        launch.observation->add(worker.observer->counts());
        Profiler* profiler = worker.observer->profiler();
        if (profiler != nullptr) profiler->add_to(*launch.request->profile);
    }
}

bool interrupt_worker(int signal) {
    for (unsigned i = 1; i < num_watched_workers; ++i) {
        if (watched_workers[i].is_running == 0) continue;
        pthread_kill(watched_workers[i].thread, signal);
        return true;
    }
    return false;
}

}  // namespace paged_interpret
