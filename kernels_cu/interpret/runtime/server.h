// The process that launches run below.
#pragma once

#include "control.h"

namespace paged_interpret {

// File descriptors that the caller gives it.
constexpr int kOrderFd = 3;  // socket: an Order in, an Answer out
constexpr int kArenaFd = 4;  // file in memory: Control and regions
constexpr int kTextFd = 5;   // pipe: what kernels print

Request request_of(const Control& control, const Module& module, void** arguments);

}  // namespace paged_interpret

extern "C" int paged_describe_module(const void* address, paged_interpret::Module* module);
