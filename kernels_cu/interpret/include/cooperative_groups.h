// CUDA's cooperative groups for the interpreter: blocks, tiles of a warp, the lanes at hand, and
// partitions of them. Groups that span warps or blocks are left out: tiles of more than 32, grids
// that synchronise, clusters.
#pragma once

#include "../numerics/lane_sets.h"

namespace cooperative_groups {

using paged_interpret::Site;

class thread_block {
   public:
    static void sync(Site site = Site::here()) { paged_interpret::sync_block(1, site); }

    static unsigned thread_rank() { return paged_interpret::linear_thread(); }
    static unsigned size() { return paged_interpret::num_linear_threads(); }
    static unsigned num_threads() { return size(); }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_index() { return blockIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};

inline thread_block this_thread_block() {
    return {};
}

// Lanes that happen to be together, or a part of a group.
class coalesced_group : public paged_interpret::WarpGroup<paged_interpret::ChosenLanes> {
   public:
    explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
        : WarpGroup(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}

    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }

   private:
    unsigned meta_rank_;
    unsigned meta_size_;
};

inline coalesced_group coalesced_threads(Site site = Site::here()) {
    return coalesced_group(paged_interpret::active_mask(site));
}

template <unsigned Size, class Parent = void>
class thread_block_tile : public paged_interpret::WarpGroup<paged_interpret::AlignedLanes<Size>> {
    static_assert(Size <= 32, "the interpreter has tiles of at most 32 threads");
    static_assert(Size != 0 && (Size & (Size - 1)) == 0, "the size of a tile is a power of two");

   public:
    thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : meta_rank_(meta_rank), meta_size_(meta_size) {}

    // A tile is the same whatever it was cut from.
    template <class Other>
    thread_block_tile(const thread_block_tile<Size, Other>& other)
        : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) {}

    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }

   private:
    unsigned meta_rank_;
    unsigned meta_size_;
};

template <unsigned Size>
inline thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block) {
    return {block.thread_rank() / Size, (block.size() + Size - 1) / Size};
}

template <unsigned Size, unsigned ParentSize, class Grandparent>
inline thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>> tiled_partition(
    const thread_block_tile<ParentSize, Grandparent>& tile) {
    static_assert(Size <= ParentSize, "a part is no larger than the whole");
    return {tile.thread_rank() / Size, ParentSize / Size};
}

// Neighbours in rank, `size` at a time; the last part takes what is left.
inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size) {
    const unsigned part = group.thread_rank() / size;
    unsigned mask = 0, rank = 0;
    for (unsigned left = group.mask(); left != 0; left &= left - 1, ++rank) {
        if (rank / size == part) mask |= left & (0 - left);
    }
    return coalesced_group(mask, part, (group.size() + size - 1) / size);
}

template <unsigned Size>
inline coalesced_group tiled_partition(const coalesced_group& group) {
    return tiled_partition(group, Size);
}

// The lanes of a group that have the same label. Parts are numbered by their lowest lanes.
template <class Group, class Label>
inline coalesced_group labeled_partition(const Group& group, Label label,
                                         Site site = Site::here()) {
    const unsigned same = paged_interpret::match_any(group.mask(), label, site);
    const unsigned leader = static_cast<unsigned>(__builtin_ctz(same));
    const bool is_leader = leader == paged_interpret::lane_index();
    const unsigned leaders = paged_interpret::ballot(group.mask(), is_leader, site);
    const unsigned before = leaders & ((1u << leader) - 1);
    return coalesced_group(same, static_cast<unsigned>(__builtin_popcount(before)),
                           static_cast<unsigned>(__builtin_popcount(leaders)));
}

template <class Group>
inline coalesced_group binary_partition(const Group& group, bool predicate,
                                        Site site = Site::here()) {
    return labeled_partition(group, static_cast<int>(predicate), site);
}

// Any of the above, its kind known at run time only.
class thread_group {
   public:
    thread_group(const thread_block&) : mask_(0) {}
    thread_group(const coalesced_group& group) : mask_(group.mask()) {}
    template <unsigned Size, class Parent>
    thread_group(const thread_block_tile<Size, Parent>& tile) : mask_(tile.mask()) {}

    void sync(Site site = Site::here()) const {
        is_block() ? thread_block::sync(site) : lanes().sync(site);
    }

    unsigned thread_rank() const {
        return is_block() ? thread_block::thread_rank() : lanes().thread_rank();
    }

    unsigned size() const { return is_block() ? thread_block::size() : lanes().size(); }
    unsigned num_threads() const { return size(); }

   private:
    friend thread_group tiled_partition(const thread_group& group, unsigned size);

    bool is_block() const { return mask_ == 0; }
    coalesced_group lanes() const { return coalesced_group(mask_); }

    unsigned mask_;  // of the lanes, none for the block
};

inline thread_group tiled_partition(const thread_group& group, unsigned size) {
    if (!group.is_block()) return tiled_partition(group.lanes(), size);
    const unsigned lane = paged_interpret::lane_index();
    const unsigned lanes = paged_interpret::kFullMask >> (paged_interpret::kWarpSize - size);
    return coalesced_group(lanes << (lane & ~(size - 1)));
}

inline thread_group tiled_partition(const thread_block& block, unsigned size) {
    return tiled_partition(thread_group(block), size);
}

// Indices only: blocks do not wait for each other here.
class grid_group {
   public:
    template <bool is_possible = false>
    static void sync() {
        static_assert(is_possible, "no barrier of a whole grid here: split it into two launches");
    }

    static unsigned long long block_rank() {
        const uint3 block = blockIdx;
        const dim3 grid = gridDim;
        return (static_cast<unsigned long long>(block.z) * grid.y + block.y) * grid.x + block.x;
    }

    static unsigned long long num_blocks() {
        const dim3 grid = gridDim;
        return static_cast<unsigned long long>(grid.x) * grid.y * grid.z;
    }

    static unsigned long long thread_rank() {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }

    static unsigned long long size() { return num_blocks() * thread_block::size(); }
    static unsigned long long num_threads() { return size(); }
    static dim3 block_index() { return blockIdx; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 group_dim() { return gridDim; }
};

inline grid_group this_grid() {
    return {};
}

template <class Group>
inline void sync(const Group& group, Site site = Site::here()) {
    group.sync(site);
}

template <class Group>
inline unsigned thread_rank(const Group& group) {
    return group.thread_rank();
}

template <class Group>
inline unsigned group_size(const Group& group) {
    return group.size();
}

// Runs a function in one thread of a group of lanes.
template <class Group, class Function, class... Arguments>
inline void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}

}  // namespace cooperative_groups
