// Stacks of lanes and the switch between them (x86-64, System V).
//
// A stack is 256 KiB of untouched memory, the lowest page unreadable, at a multiple of its size:
// which stack an address is in shows without a look at any. Tops are staggered so that the hot
// lines of a block's lanes do not fall into the same cache sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace paged_interpret {

class Stack {
public:
    static constexpr size_t kStackBytes = 256 * 1024;
    static constexpr size_t kGuardBytes = 4096;

    explicit Stack(unsigned number);
    ~Stack();
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;

    // Returns a stack pointer that, switched to, calls body, which must not return.
    void* prepare(void (*body)());
    bool guard_contains(const void* address) const;
    bool contains(const void* address) const;

private:
    char* memory_;
    char* top_;
};

// Whether an address is in the stack that the caller runs on.
inline bool is_on_this_stack(const void* address) {
    uint64_t stack_pointer;
    asm("mov %%rsp, %0" : "=r"(stack_pointer));
    return (reinterpret_cast<uint64_t>(address) ^ stack_pointer) < Stack::kStackBytes;
}

// Stacks not in use, the last one given back first: its lines are in the cache.
class StackPool {
public:
    void reserve(unsigned num_stacks);
    Stack* take();
    void give_back(Stack* stack) { free_.push_back(stack); }
    void give_back_all();

private:
    std::vector<std::unique_ptr<Stack>> all_;
    std::vector<Stack*> free_;
};

// Saves the caller's registers on its stack, its stack pointer in *saved, and goes on at `next`.
extern "C" void paged_switch(void** saved, void* next);

}  // namespace paged_interpret
