// Copies of one physical block, all layers, between pools of equal block shape and any strides.
//
// The block is walked as rows of head_dim elements in the order (layer, half, head, slot), or as
// one row where it is contiguous in both pools.
#pragma once

#include "chunk.cuh"
#include "kv_pool.cuh"

namespace paged {

struct BlockShape {
  int num_layers;
  int num_kv_heads;
  int block_size;
  int head_dim;

  __device__ int num_rows() const { return num_layers * kNumHalves * num_kv_heads * block_size; }
};

// One block in a pool: its first element, and the pool's strides.
template <class T>
struct Block {
  T* start;
  const long long* stride;
};

// A block of a pool; null where the id is outside of it: such pairs pad a buffer, and are skipped.
template <class T>
__device__ inline Block<T> block_at(T* pool, const long long* stride, long long id,
                                    int num_blocks) {
  const bool is_known = id >= 0 && id < num_blocks;
  return {is_known ? pool + id * stride[kBlockAxis] : nullptr, stride};
}

// The row of a block with this index, in the order above.
template <class T>
__device__ inline T* row_at(const Block<T>& block, const BlockShape& shape, int row) {
  const int slot = row % shape.block_size;
  const int group = row / shape.block_size;
  const int head = group % shape.num_kv_heads;
  const int plane = group / shape.num_kv_heads;
  return block.start + plane / kNumHalves * block.stride[kLayerAxis] +
         plane % kNumHalves * block.stride[kHalfAxis] + head * block.stride[kHeadAxis] +
         slot * block.stride[kSlotAxis];
}

// Whether the rows of a block follow each other without gaps.
template <class T>
__device__ inline bool is_contiguous(const Block<T>& block, const BlockShape& shape) {
  const long long head = static_cast<long long>(shape.block_size) * shape.head_dim;
  const long long half = head * shape.num_kv_heads;
  return block.stride[kSlotAxis] == shape.head_dim && block.stride[kHeadAxis] == head &&
         block.stride[kHalfAxis] == half && block.stride[kLayerAxis] == half * kNumHalves;
}

// Copy the chunks of a block that are part `part` of `num_parts`. Called by a whole block of
// threads; each has kBatch vectors in flight. Chunks that are no vector are copied by element.
template <class T>
__device__ inline void copy_block_part(const Block<T>& to, const Block<const T>& from,
                                       const BlockShape& shape, int part, int num_parts) {
  using Vector = uint4;  // whatever T is: a struct of bytes would take a register for each
  static_assert(sizeof(Vector) == kVectorBytes, "a vector is one access of full width");
  constexpr int kChunk = kVectorBytes / sizeof(T);
  constexpr int kBatch = 4;
  const bool is_one_row = is_contiguous(to, shape) && is_contiguous(from, shape);
  const int num_rows = is_one_row ? 1 : shape.num_rows();
  const int row_elements = is_one_row ? shape.num_rows() * shape.head_dim : shape.head_dim;
  const int row_chunks = (row_elements + kChunk - 1) / kChunk;
  const long long num_chunks = static_cast<long long>(num_rows) * row_chunks;
  const long long step = static_cast<long long>(num_parts) * blockDim.x;
  const long long first = static_cast<long long>(part) * blockDim.x + threadIdx.x;
  for (long long begin = first; begin < num_chunks; begin += kBatch * step) {
    Vector vectors[kBatch];
    Vector* targets[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      targets[i] = nullptr;
      const long long c = begin + i * step;
      if (c >= num_chunks) continue;
      const int row = static_cast<int>(c) / row_chunks;
      const int d = static_cast<int>(c) % row_chunks * kChunk;
      T* target = row_at(to, shape, row) + d;
      const T* source = row_at(from, shape, row) + d;
      const int count = min(kChunk, row_elements - d);
      if (count == kChunk && is_aligned_for<Vector>(target) && is_aligned_for<Vector>(source)) {
        vectors[i] = *reinterpret_cast<const Vector*>(source);
        targets[i] = reinterpret_cast<Vector*>(target);
      } else {
        for (int j = 0; j < count; ++j) target[j] = source[j];
      }
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (targets[i] != nullptr) *targets[i] = vectors[i];
    }
  }
}

// Copy one layer of a block, an element at a time. Called by a whole block of threads.
template <class T>
__device__ inline void copy_block_layer(const Block<T>& to, const Block<const T>& from,
                                        const BlockShape& shape, int layer) {
  const int layer_rows = shape.num_rows() / shape.num_layers;
  for (int i = threadIdx.x; i < layer_rows * shape.head_dim; i += blockDim.x) {
    const int row = layer * layer_rows + i / shape.head_dim;
    const int d = i % shape.head_dim;
    row_at(to, shape, row)[d] = row_at(from, shape, row)[d];
  }
}

}  // namespace paged
