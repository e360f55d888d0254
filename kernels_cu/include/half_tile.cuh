// Tiles of half-precision rows in shared memory, and what a warp multiplies out of them.
//
// Layout: rows of HEAD_DIM elements of Q_T, kTilePitch apart. The pitch is an odd multiple of 16
// bytes, so the eight rows of an 8x8 matrix lie in different banks whatever the head dimension.
//
// Fragments are those of portable.cuh. The result of two neighbouring 16x8 products, rounded, is
// the left operand of the next product.
#pragma once

#include <type_traits>

#include "element.cuh"
#include "portable.cuh"
#include "softmax.cuh"

namespace paged {

constexpr int kChunk = 8;  // elements of 16 bytes, the unit of copies and of ldmatrix rows
constexpr int kTilePitch = HEAD_DIM + kChunk;
constexpr int kChunksPerRow = HEAD_DIM / kChunk;
constexpr int kDepthSteps = HEAD_DIM / 16;

static_assert(HEAD_DIM % 16 == 0, "the products step through the head dimension by 16");
static_assert(sizeof(Q_T) == 2, "tiles hold 16-bit elements");

using Fragment = float[4];  // of C, one lane's

// Return two numbers as a pair of 16-bit elements, the first in the low half.
__device__ inline unsigned pack_pair(float low, float high) {
  if constexpr (std::is_same_v<Q_T, __half>) {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const unsigned&>(pair);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const unsigned&>(pair);
  }
}

// Where one row of a tile comes from or goes to, in elements from a base.
struct RowPlace {
  bool exists;
  long long offset;
};

// Names to the warp the places that its lanes hold: lane i that of row i.
struct WarpPlaces {
  RowPlace own;
  unsigned existing;

  __device__ explicit WarpPlaces(RowPlace place)
      : own(place), existing(__ballot_sync(kFullWarp, place.exists)) {}

  __device__ RowPlace at(int row) const {
    return {(existing >> row & 1u) != 0, __shfl_sync(kFullWarp, own.offset, row)};
  }
};

// Write eight elements to shared memory, converted where they are of another type.
template <class Source>
__device__ void store_converted(Q_T* to, const Chunk<Source, kChunk>& chunk) {
  float elements[kChunk];
  to_floats(chunk, elements);
  unsigned pairs[kChunk / 2];
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    pairs[i] = pack_pair(elements[2 * i], elements[2 * i + 1]);
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

// Fills kRows <= 32 rows of a tile with one warp; rows without a source become zero.
template <int kRows, class Source>
struct RowLoader {
  using SourceChunk = Chunk<Source, kChunk>;

  static constexpr int kChunks = kRows * kChunksPerRow;
  static constexpr int kSteps = (kChunks + kWarpSize - 1) / kWarpSize;

  Q_T* rows;
  const Source* base;
  WarpPlaces places;  // lane i < kRows holds that of row i

  // Call visit(step, to, exists, from) for each chunk of this lane.
  template <class Visit>
  __device__ void for_each_chunk(int first_step, int end_step, Visit visit) const {
#pragma unroll
    for (int step = first_step; step < end_step; ++step) {
      const int index = step * kWarpSize + threadIdx.x % kWarpSize;
      const int row = index / kChunksPerRow, column = index % kChunksPerRow * kChunk;
      const RowPlace source = places.at(row % kWarpSize);
      if (index >= kChunks) continue;
      visit(step, rows + row * kTilePitch + column, source.exists, base + source.offset + column);
    }
  }

  // Rows of Q_T at multiples of 16 bytes: asynchronous, commit and wait.
  __device__ void copy() const {
    for_each_chunk(0, kSteps, [](int, Q_T* to, bool exists, const Source* from) {
      if (exists) {
        cp_async<16>(to, from);
      } else {
        *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
      }
    });
  }

  // Rows of another type, aligned for its chunks. All loads are on their way before the first
  // conversion waits for one.
  __device__ void convert() const {
    SourceChunk chunks[kSteps];
    for_each_chunk(0, kSteps, [&](int step, Q_T*, bool exists, const Source* from) {
      chunks[step] = exists ? *reinterpret_cast<const SourceChunk*>(from) : SourceChunk{};
    });
    for_each_chunk(0, kSteps, [&](int step, Q_T* to, bool, const Source*) {
      store_converted(to, chunks[step]);
    });
  }

  // Rows at any address, element by element.
  __device__ void convert_unaligned() const {
#pragma unroll 1
    for (int first = 0; first < kSteps; ++first) {
      for_each_chunk(first, first + 1, [](int, Q_T* to, bool exists, const Source* from) {
        store_converted(to, exists ? load_chunk<kChunk>(from, kChunk) : SourceChunk{});
      });
    }
  }
};

// Fill kRows rows of a tile with one warp, zeros where a row has no source. Lane i < kRows says
// where row i is. is_aligned: whether all begin at multiples of eight elements' bytes.
// The rows are there after the asynchronous copies of all lanes are.
template <int kRows, class Source>
__device__ void load_rows(Q_T* rows, const Source* base, RowPlace place, bool is_aligned) {
  const RowLoader<kRows, Source> loader{rows, base, WarpPlaces(place)};
  if (!is_aligned) {
    loader.convert_unaligned();
  } else if constexpr (std::is_same_v<Source, Q_T>) {
    loader.copy();
  } else {
    loader.convert();
  }
}

// Write kRows <= 32 rows of a tile with one warp, those that have a place.
template <int kRows>
__device__ void store_rows(const Q_T* rows, Q_T* base, RowPlace place) {
  static_assert(kRows * kChunksPerRow % kWarpSize == 0, "every lane writes as many chunks");
  const WarpPlaces places(place);
#pragma unroll
  for (int first = 0; first < kRows * kChunksPerRow; first += kWarpSize) {
    const int index = first + threadIdx.x % kWarpSize;
    const int row = index / kChunksPerRow, column = index % kChunksPerRow * kChunk;
    const RowPlace to = places.at(row);
    if (!to.exists) continue;
    *reinterpret_cast<uint4*>(base + to.offset + column) =
        *reinterpret_cast<const uint4*>(rows + row * kTilePitch + column);
  }
}

// Add queries * keys^T to products: 16 query rows by 8 * kTiles keys, over the head dimension.
template <int kTiles>
__device__ void add_products(Fragment (&products)[kTiles], const Q_T* queries, const Q_T* keys) {
  static_assert(kTiles % 2 == 0, "one ldmatrix brings the keys of two 16x8 products");
  const int lane = threadIdx.x % kWarpSize;
  const Q_T* query = queries + lane % 16 * kTilePitch + lane / 16 * kChunk;
  const Q_T* key = keys + (lane / 16 * 8 + lane % 8) * kTilePitch + lane / 8 % 2 * kChunk;
#pragma unroll
  for (int step = 0; step < kDepthSteps; ++step) {
    unsigned a[4];
    ldmatrix_x4(a, query + step * 16);
#pragma unroll
    for (int tile = 0; tile < kTiles; tile += 2) {
      unsigned b[4];
      ldmatrix_x4(b, key + tile * 8 * kTilePitch + step * 16);
      mma_m16n8k16<Q_T>(products[tile], a, {b[0], b[1]});
      mma_m16n8k16<Q_T>(products[tile + 1], a, {b[2], b[3]});
    }
  }
}

// Add weights * values to sums: 16 rows by HEAD_DIM, over 8 * kTiles keys. The weights are
// rounded to Q_T.
template <int kTiles>
__device__ void add_values(Fragment (&sums)[HEAD_DIM / 8], const Fragment (&weights)[kTiles],
                           const Q_T* values) {
  const int lane = threadIdx.x % kWarpSize;
  const Q_T* value = values + lane % 16 * kTilePitch + lane / 16 * kChunk;
#pragma unroll
  for (int tile = 0; tile < kTiles; tile += 2) {
    const unsigned a[4] = {pack_pair(weights[tile][0], weights[tile][1]),
                           pack_pair(weights[tile][2], weights[tile][3]),
                           pack_pair(weights[tile + 1][0], weights[tile + 1][1]),
                           pack_pair(weights[tile + 1][2], weights[tile + 1][3])};
#pragma unroll
    for (int step = 0; step < kDepthSteps; ++step) {
      unsigned b[4];
      ldmatrix_x4_trans(b, value + tile * 8 * kTilePitch + step * 16);
      mma_m16n8k16<Q_T>(sums[2 * step], a, {b[0], b[1]});
      mma_m16n8k16<Q_T>(sums[2 * step + 1], a, {b[2], b[3]});
    }
  }
}

}  // namespace paged
