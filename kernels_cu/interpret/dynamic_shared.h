// Dynamic shared memory: one thread-local array a library, however many declarations name it.
#pragma once

namespace paged_interpret {

// What a block of the largest supported device may ask for: 227 KiB.
constexpr unsigned long kMaxDynamicSharedBytes = 227 * 1024;
// Poisoned behind the part in use; a write to it is found when the block has ended.
constexpr unsigned long kSharedMarginBytes = 4096;

}  // namespace paged_interpret
