// Memory of stacks, and the switch: six callee-saved registers and the stack pointer.
#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace paged_interpret {

namespace {

constexpr unsigned kNumStaggers = 16;
constexpr size_t kStaggerBytes = 192;
constexpr size_t kNumSavedRegisters = 6;

}  // namespace

// The entry has no caller: unwinders stop at it.
asm(R"(
    .text
    .globl paged_switch
    .hidden paged_switch
    .type paged_switch, @function
paged_switch:
    .cfi_startproc
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .cfi_endproc
    .size paged_switch, .-paged_switch

    .globl paged_begin
    .hidden paged_begin
    .type paged_begin, @function
paged_begin:
    .cfi_startproc
    .cfi_undefined rip
    call *%rbx
    ud2
    .cfi_endproc
    .size paged_begin, .-paged_begin
)");

extern "C" void paged_begin();

Stack::Stack(unsigned number) {
    void* memory = mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    char* begin = static_cast<char*>(memory);
    const size_t before = -reinterpret_cast<uintptr_t>(begin) % kStackBytes;
    memory_ = begin + before;
    if (before != 0) munmap(begin, before);
    munmap(memory_ + kStackBytes, kStackBytes - before);
    mprotect(memory_, kGuardBytes, PROT_NONE);
    top_ = memory_ + kStackBytes - (number % kNumStaggers) * kStaggerBytes;
}

Stack::~Stack() { munmap(memory_, kStackBytes); }

void* Stack::prepare(void (*body)()) {
    // From the top: two empty words that keep the call aligned, the return address, registers.
    auto** word = reinterpret_cast<void**>(top_) - 2;
    *--word = reinterpret_cast<void*>(&paged_begin);
    *--word = nullptr;                         // rbp
    *--word = reinterpret_cast<void*>(body);   // rbx
    for (size_t i = 2; i < kNumSavedRegisters; ++i) *--word = nullptr;
    return word;
}

bool Stack::guard_contains(const void* address) const {
    const auto* byte = static_cast<const char*>(address);
    return byte >= memory_ && byte < memory_ + kGuardBytes;
}

bool Stack::contains(const void* address) const {
    const auto* byte = static_cast<const char*>(address);
    return byte >= memory_ + kGuardBytes && byte < top_;
}

void StackPool::reserve(unsigned num_stacks) {
    while (all_.size() < num_stacks) {
        all_.push_back(std::make_unique<Stack>(static_cast<unsigned>(all_.size())));
        free_.push_back(all_.back().get());
    }
}

Stack* StackPool::take() {
    if (free_.empty()) reserve(static_cast<unsigned>(all_.size()) + 1);
    Stack* stack = free_.back();
    free_.pop_back();
    return stack;
}

void StackPool::give_back_all() {
    free_.clear();
    for (const auto& stack : all_) free_.push_back(stack.get());
}

}  // namespace paged_interpret
