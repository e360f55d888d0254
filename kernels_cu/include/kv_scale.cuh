// The scale of a head's stored keys or values, as a factor for sums over them.
//
// Scores are linear in keys and outputs in values, so neither needs a product per element.
#pragma once

#include "kv_pool.cuh"

namespace paged {

// The scale of a head: real numbers over stored ones; 1 where the pool has no scales.
// Params is the generated struct of the attention op; kv_scales: [num_layers, 2, num_kv_heads].
template <class Params>
__device__ inline float kv_scale_of(const Params& p, KvHalf half, int kv_head) {
  if (p.kv_scales == nullptr) return 1.0f;
  return p.kv_scales[(static_cast<long long>(p.layer) * kNumHalves + half) * p.num_kv_heads +
                     kv_head];
}

}  // namespace paged
