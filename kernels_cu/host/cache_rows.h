// Rows of keys and values on their way into a pool and out of it.
#pragma once
#include <type_traits>

#include "elements.h"

namespace paged_host {

// Stores num numbers divided by a scale, rounded once; null is no scale, and keeps equal types' bits.
template <typename From, typename To>
void store_row(const typename From::Storage* from, int64_t from_stride, const float* scale,
               typename To::Storage* to, int64_t to_stride, int64_t num) {
    for (int64_t i = 0; i < num; ++i) {
        if constexpr (std::is_same_v<From, To>) {
            if (scale == nullptr) {
                to[i * to_stride] = from[i * from_stride];
                continue;
            }
        }
        const float value = From::to_float(from[i * from_stride]);
        to[i * to_stride] = To::from_float(scale == nullptr ? value : value / *scale);
    }
}

// Reads num numbers times a scale, rounded once; null as above.
template <typename From, typename To>
void read_row(const typename From::Storage* from, int64_t from_stride, const float* scale,
              typename To::Storage* to, int64_t num) {
    for (int64_t i = 0; i < num; ++i) {
        if constexpr (std::is_same_v<From, To>) {
            if (scale == nullptr) {
                to[i] = from[i * from_stride];
                continue;
            }
        }
        const float value = From::to_float(from[i * from_stride]);
        to[i] = To::from_float(scale == nullptr ? value : value * *scale);
    }
}

// Elements from the start of a pool to a row of a slot.
inline int64_t row_offset(const long long* stride, int64_t slot, int64_t block_size, int64_t layer,
                          int64_t half, int64_t head) {
    return slot / block_size * stride[0] + layer * stride[1] + half * stride[2] + head * stride[3] +
           slot % block_size * stride[4];
}

// The scale of a head's keys (half 0) or values (1) in kv_scales [num_layers][2][num_heads].
inline const float* scale_of(const float* kv_scales, int64_t layer, int64_t half, int64_t head,
                             int64_t num_heads) {
    return kv_scales == nullptr ? nullptr : kv_scales + (layer * 2 + half) * num_heads + head;
}

}  // namespace paged_host
