// Which lanes of a warp form a group, and the rank of each: what cooperative groups are made of.
#pragma once

#include "../warp.h"

namespace paged_interpret {

inline unsigned linear_thread() {
    const uint3 thread = current_lane->thread;
    const dim3 size = geometry.block_size;
    return (thread.z * size.y + thread.y) * size.x + thread.x;
}

inline unsigned num_linear_threads() {
    const dim3 size = geometry.block_size;
    return size.x * size.y * size.z;
}

// `size` neighbours, from a multiple of size on.
template <unsigned size_>
class AlignedLanes {
   public:
    static constexpr unsigned size() { return size_; }
    static unsigned thread_rank() { return lane_index() % size_; }
    static unsigned mask() { return (kFullMask >> (kWarpSize - size_)) << first(); }

   protected:
    static unsigned lane_of(unsigned rank, Site) { return first() + rank % size_; }
    static unsigned to_ranks(unsigned lanes) { return (lanes & mask()) >> first(); }

   private:
    static unsigned first() { return lane_index() & ~(size_ - 1); }
};

// Any lanes, ranked from the lowest.
class ChosenLanes {
   public:
    explicit ChosenLanes(unsigned mask) : mask_(mask) {}

    unsigned size() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
    unsigned thread_rank() const { return rank_of(lane_index()); }
    unsigned mask() const { return mask_; }

   protected:
    unsigned lane_of(unsigned rank, Site site) const {
        if (rank >= size()) fail_at("shfl from a rank that the group does not have", site);
        unsigned left = mask_;
        for (; rank > 0; --rank) left &= left - 1;
        return static_cast<unsigned>(__builtin_ctz(left));
    }

    unsigned to_ranks(unsigned lanes) const {
        unsigned ranks = 0;
        for (unsigned left = lanes & mask_; left != 0; left &= left - 1) {
            ranks |= 1u << rank_of(static_cast<unsigned>(__builtin_ctz(left)));
        }
        return ranks;
    }

   private:
    unsigned rank_of(unsigned lane) const {
        return static_cast<unsigned>(__builtin_popcount(mask_ & ((1u << lane) - 1)));
    }

    unsigned mask_;
};

// What lanes of one warp do as a group. Lane numbers in arguments and results are ranks.
template <class Lanes>
class WarpGroup : public Lanes {
   public:
    using Lanes::Lanes;
    using Lanes::mask;
    using Lanes::size;
    using Lanes::thread_rank;

    unsigned num_threads() const { return size(); }

    void sync(Site site = Site::here()) const { sync_warp(mask(), site); }

    template <class T>
    T shfl(T value, int rank, Site site = Site::here()) const {
        return read(value, Lanes::lane_of(static_cast<unsigned>(rank), site), site);
    }

    // Beyond the ends of the group a lane gets its own value.
    template <class T>
    T shfl_up(T value, unsigned delta, Site site = Site::here()) const {
        const unsigned rank = thread_rank();
        return read(value, Lanes::lane_of(rank >= delta ? rank - delta : rank, site), site);
    }

    template <class T>
    T shfl_down(T value, unsigned delta, Site site = Site::here()) const {
        const unsigned rank = thread_rank();
        const bool is_inside = delta < size() - rank;
        return read(value, Lanes::lane_of(is_inside ? rank + delta : rank, site), site);
    }

    template <class T>
    T shfl_xor(T value, unsigned rank_mask, Site site = Site::here()) const {
        const unsigned other = thread_rank() ^ rank_mask;
        const bool is_inside = other < size();
        return read(value, Lanes::lane_of(is_inside ? other : thread_rank(), site), site);
    }

    unsigned ballot(int predicate, Site site = Site::here()) const {
        return Lanes::to_ranks(paged_interpret::ballot(mask(), predicate, site));
    }

    int any(int predicate, Site site = Site::here()) const { return ballot(predicate, site) != 0; }

    int all(int predicate, Site site = Site::here()) const { return ballot(!predicate, site) == 0; }

    template <class T>
    unsigned match_any(T value, Site site = Site::here()) const {
        return Lanes::to_ranks(paged_interpret::match_any(mask(), value, site));
    }

    // Equality with all others is equality of all, in every lane alike.
    template <class T>
    unsigned match_all(T value, int& is_match, Site site = Site::here()) const {
        const unsigned ranks = match_any(value, site);
        is_match = static_cast<unsigned>(__builtin_popcount(ranks)) == size();
        return is_match ? ranks : 0;
    }

    // Runs combine(values by rank, number of values, results by rank) once for the group.
    template <class T, class Combine>
    T combine_ranks(T value, Combine combine, Site site) const {
        const auto run = [combine](const T(&in)[kWarpSize], T(&out)[kWarpSize], unsigned lanes) {
            T values[kWarpSize], results[kWarpSize];
            unsigned count = 0;
            for (unsigned left = lanes; left != 0; left &= left - 1) {
                values[count++] = in[__builtin_ctz(left)];
            }
            combine(values, count, results);
            for (unsigned rank = 0; lanes != 0; lanes &= lanes - 1, ++rank) {
                out[__builtin_ctz(lanes)] = results[rank];
            }
        };
        return warp_collective<T, T>(mask(), value, run, site);
    }

   private:
    template <class T>
    T read(T value, unsigned lane, Site site) const {
        const auto source = [lane](unsigned, unsigned, unsigned) { return lane; };
        return shuffle(mask(), value, kWarpSize, source, site);
    }
};

}  // namespace paged_interpret
