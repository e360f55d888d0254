// The key and value rows of one sequence and KV head, found through its block table.
//
// KV_T and HEAD_DIM are macros of the attention op.
#pragma once

#include "chunk.cuh"
#include "kv_pool.cuh"

namespace paged {

// Division of keys by the block size: a multiplication, for it precedes every load.
struct BlockDivider {
  int block_size;
  unsigned long long reciprocal;  // of block_size, times 2^32, rounded up

  __device__ explicit BlockDivider(int size)
      : block_size(size), reciprocal(((1ULL << 32) + size - 1) / size) {}

  // The block of a key, 0 .. 2^31 - 1.
  __device__ int block_of(int key) const {
    // careful: rounding up may give one too much for large keys, never more
    const int quotient = static_cast<int>(static_cast<unsigned>(key) * reciprocal >> 32);
    return quotient - (static_cast<long long>(quotient) * block_size > key);
  }
};

struct KvRows {
  const KV_T* keys;    // of this layer and head in block 0
  const KV_T* values;  // likewise
  const int* table;
  long long block_stride, slot_stride;
  BlockDivider divider;

  // Elements from `keys` or `values` to the row of a key.
  __device__ long long offset_of(int key) const {
    const int block = divider.block_of(key);
    const int slot = key - block * divider.block_size;
    return table[block] * block_stride + slot * slot_stride;
  }

  // Whether all rows begin at a multiple of this many bytes.
  __device__ bool are_aligned(int bytes) const {
    const auto pitch = static_cast<unsigned long long>(block_stride | slot_stride) * sizeof(KV_T);
    const auto addresses = reinterpret_cast<unsigned long long>(keys) |
                           reinterpret_cast<unsigned long long>(values);
    return (pitch | addresses) % bytes == 0;
  }
};

// The rows of a sequence and KV head, at the call's layer.
// careful: a padding token has no sequence; its rows must not be read
template <class Params>
__device__ inline KvRows kv_rows_of(const Params& p, int sequence, int kv_head) {
  const Slot origin{0, 0};
  const long long* stride = p.kv_pool_stride;
  return {p.kv_pool + row_offset(stride, origin, p.layer, kKeys, kv_head),
          p.kv_pool + row_offset(stride, origin, p.layer, kValues, kv_head),
          p.block_tables + static_cast<long long>(sequence) * p.max_blocks,
          stride[kBlockAxis],
          stride[kSlotAxis],
          BlockDivider(p.block_size)};
}

}  // namespace paged
