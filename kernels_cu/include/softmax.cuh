// Online softmax in base 2: running maximum and sum of one row of logits.
//
// Logits are scores times log2(e), so that a weight is one exp2. Without keys the maximum is
// -infinity and the sum 0; every function here keeps that exact, and no finite logit is special.
#pragma once

#include <math.h>

#include "portable.cuh"

namespace paged {

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLn2 = 0.6931471805599453f;
constexpr float kMinusInfinity = -INFINITY;

// exp2(logit - maximum): also the factor that moves sums relative to an older maximum.
__device__ inline float weight_of(float logit, float maximum) {
  // -infinity less -infinity is NaN
  return logit == kMinusInfinity ? 0.0f : exp2f(logit - maximum);
}

// The logit of a visible key. score: scale * query . key; distance: key's position less query's.
__device__ inline float logit_of(float score, float softcap, float alibi_slope, int distance) {
  if (softcap > 0.0f) score = softcap * tanhf(score / softcap);
  return (score + alibi_slope * static_cast<float>(distance)) * kLog2E;
}

struct RowSums {
  float maximum = kMinusInfinity;
  float sum = 0.0f;

  // Raises the maximum and returns the factor for everything summed so far.
  __device__ float raise(float maximum_of_new) {
    const float raised = fmaxf(maximum, maximum_of_new);
    const float factor = weight_of(maximum, raised);
    maximum = raised;
    sum *= factor;
    return factor;
  }

  // Adds a logit without a value. Returns the factor for the values summed so far.
  __device__ float add_sink(float sink) {
    const float logit = sink * kLog2E;
    const float factor = raise(logit);
    // infinity less infinity is NaN, yet an infinite sink outweighs every key
    sum += logit == INFINITY ? 1.0f : weight_of(logit, maximum);
    return factor;
  }

  // What summed values are multiplied by to give the row's output.
  __device__ float normalizer() const { return sum > 0.0f ? 1.0f / sum : 0.0f; }

  // Natural logarithm of the sum of exponentials.
  __device__ float log_sum() const {
    return sum > 0.0f ? (maximum + log2f(sum)) * kLn2 : kMinusInfinity;
  }
};

}  // namespace paged
