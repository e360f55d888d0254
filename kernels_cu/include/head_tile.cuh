// The query heads of a group, cut into tiles that fit in registers.
//
// GROUP_SIZE, the number of query heads per KV head, is a macro of the attention op.
#pragma once

#include "attend.cuh"

namespace paged {

constexpr int kMaxTileHeads = 16;
constexpr int kHeadTiles = (GROUP_SIZE + kMaxTileHeads - 1) / kMaxTileHeads;
constexpr int kTileHeads = (GROUP_SIZE + kHeadTiles - 1) / kHeadTiles;

// The query heads of a tile, of KV head kv_head.
__device__ inline Heads head_tile(int kv_head, int tile) {
  const int first = tile * kTileHeads;
  return {kv_head * GROUP_SIZE + first, min(kTileHeads, GROUP_SIZE - first), kv_head};
}

}  // namespace paged
