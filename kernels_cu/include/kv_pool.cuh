// Where a row lies in a KV pool [num_blocks, num_layers, 2, num_kv_heads, block_size, head_dim].
//
// Every axis but the last has a stride of its own, in elements. All offsets have 64 bits: pools
// pass 2^31 elements (vllm-project/vllm#50427). No stride is derived from another one
// (ROCm/aiter#3498).
#pragma once

namespace paged {

enum KvHalf { kKeys = 0, kValues = 1, kNumHalves = 2 };

// Axes of the pool's strides.
enum PoolAxis { kBlockAxis, kLayerAxis, kHalfAxis, kHeadAxis, kSlotAxis, kNumPoolAxes };

// Room for one token's keys and values: a block, and a position in it.
struct Slot {
  long long block;
  int offset;
};

// The slot with an index, which counts slots through all blocks and must not be negative.
__device__ inline Slot slot_at(long long index, int block_size) {
  constexpr long long kInt32Max = 0x7fffffff;
  // a 64-bit division takes several times as long as a 32-bit one, and few pools need it
  if (index <= kInt32Max) {
    const int narrow = static_cast<int>(index);
    return {narrow / block_size, narrow % block_size};
  }
  return {index / block_size, static_cast<int>(index % block_size)};
}

// Elements from the pool's start to the row of one head's keys or values in a slot.
__device__ inline long long row_offset(const long long* stride, Slot slot, int layer, KvHalf half,
                                       int head) {
  return slot.block * stride[kBlockAxis] + layer * stride[kLayerAxis] + half * stride[kHalfAxis] +
         head * stride[kHeadAxis] + slot.offset * stride[kSlotAxis];
}

// Index of this thread in a one-dimensional grid.
__device__ inline long long global_thread() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace paged
