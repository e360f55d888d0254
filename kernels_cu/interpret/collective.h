// Operations that the lanes of a warp carry out together: the base of shuffles, votes and mma.
//
// A collective is a rendezvous. Every lane named in the mask deposits a pointer to its input and
// to the place of its output, both on its own stack, and waits; the last to arrive gathers the
// inputs, combines them once, hands out the outputs and goes on. It costs one fiber switch a lane.
#pragma once

#include "lane.h"

namespace paged_interpret {

// What a waiting lane offers to the others; lives on its stack.
struct Deposit {
    const void* input;
    void* output;
};

#pragma GCC visibility push(default)

// Ends the launch with this message and the block and thread that called it.
[[noreturn]] void fail(const char* message);
[[noreturn]] void fail_at(const char* message, Site site);

// Joins the collective `kind` of the lanes in `mask`, and returns how the caller leaves it: in the
// last lane to arrive with the deposits of the warp by lane, and it must call finish_collective;
// with null when another has finished it. Lanes meet only with one kind, one mask and one site, else
// the launch fails. Drops from *mask lanes that the block does not have.
Deposit* const* join_collective(unsigned* mask, Deposit* deposit, const void* kind, Site site);
void finish_collective(unsigned mask);

// Lanes of the warp that are here at this call now: all that get to it before the warp can do
// nothing else. Any subset would be legal; the largest is the one kernels are written for.
unsigned active_mask(Site site);

// Waits for the lanes of mask, as __syncwarp: lanes that have ended need not come.
void sync_warp(unsigned mask, Site site);

// How many of the block's threads passed a predicate other than 0; each of them waits for all.
int sync_block(int predicate, Site site);
unsigned num_block_threads();

// Lets the other lanes of the block, and other OS threads, run; a waiting loop must call it.
void yield_lane();
// The same, now and then: for operations that waiting loops are made of.
void yield_sometimes();

// Asynchronous copies of one lane: the destination holds poison until a wait carries out the
// copy. src_bytes of `bytes` are read, the rest becomes zero. commit closes a group, wait carries
// out all groups but the newest `groups_left`. It is an error to end with copies in flight.
void async_copy(void* shared_dst, const void* global_src, int bytes, int src_bytes);
void async_commit();
void async_wait(int groups_left);

#pragma GCC visibility pop

// Identifies one instantiation of a collective by the address of its mark.
template <class Input, class Output, class Combine>
struct CollectiveKind {
    static constexpr char mark = 0;
};

// Runs combine(const Input (&inputs)[32], Output (&outputs)[32], unsigned mask) once for the
// lanes in mask and returns outputs[lane_index()] in each. Inputs of other lanes are all-ones
// bytes. Both types are trivially copyable. Wrappers pass their own caller's site on.
template <class Input, class Output, class Combine>
inline Output warp_collective(unsigned mask, const Input& input, Combine combine,
                              Site site = Site::here()) {
    static_assert(__is_trivially_copyable(Input), "lanes exchange plain bytes");
    static_assert(__is_trivially_copyable(Output), "lanes exchange plain bytes");
    Output output;
    Deposit deposit{&input, &output};
    const void* kind = &CollectiveKind<Input, Output, Combine>::mark;
    Deposit* const* deposits = join_collective(&mask, &deposit, kind, site);
    if (deposits == nullptr) return output;

    Input inputs[kWarpSize];
    Output outputs[kWarpSize];
    if (mask != kFullMask) __builtin_memset(static_cast<void*>(inputs), 0xff, sizeof inputs);
    for (unsigned left = mask; left != 0; left &= left - 1) {
        const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
        inputs[lane] = *static_cast<const Input*>(deposits[lane]->input);
    }
    combine(inputs, outputs, mask);
    for (unsigned left = mask; left != 0; left &= left - 1) {
        const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
        *static_cast<Output*>(deposits[lane]->output) = outputs[lane];
    }
    finish_collective(mask);
    return output;
}

}  // namespace paged_interpret
