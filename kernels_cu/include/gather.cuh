// Which slot of a KV pool holds a gathered row.
#pragma once

#include "kv_pool.cuh"

namespace paged {

// Index of the sequence whose rows [start[i], start[i + 1]) hold `row`; num_seqs where none does.
// start: [num_seqs + 1], ascending; sequences may be empty.
__device__ inline int sequence_of(const int* start, int num_seqs, int row) {
  int low = 0;
  int high = num_seqs + 1;
  // invariant: start[i] <= row for all i < low, and start[i] > row for all i >= high
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (start[middle] <= row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? num_seqs : low - 1;
}

// The slot of a row; its block is negative where no sequence has the row, where the table ends
// before it or where the table's entry is outside of the pool.
// tables: [num_seqs, max_blocks], contiguous.
__device__ inline Slot gathered_slot(const int* start, const int* tables, int num_seqs,
                                     int max_blocks, int num_blocks, int block_size, int row) {
  constexpr Slot kNowhere = {-1, 0};
  const int sequence = sequence_of(start, num_seqs, row);
  if (sequence == num_seqs) return kNowhere;
  const int position = row - start[sequence];
  const int entry = position / block_size;
  if (entry >= max_blocks) return kNowhere;
  const int block = tables[static_cast<long long>(sequence) * max_blocks + entry];
  if (block < 0 || block >= num_blocks) return kNowhere;
  return {block, position % block_size};
}

}  // namespace paged
