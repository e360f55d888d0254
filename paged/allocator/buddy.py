"""Buddy allocation: power-of-two chunks, aligned to their own size."""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from paged.allocator.address_space import Span, check_tiling
from paged.errors import check
from paged.types import IndexArray


def _order_of(num_blocks: int) -> int:
    """Exponent of the smallest power of two that is at least num_blocks."""
    check(num_blocks >= 1, f"a span has at least 1 block, got {num_blocks}")
    return (num_blocks - 1).bit_length()


class BuddySpace:
    """Address space of a buddy allocator. A chunk of order k has 2**k blocks.

    num_blocks need not be a power of two. The space is cut greedily, from block 0 up,
    into the largest chunks allowed: first as many as fit of max_span_blocks rounded up
    to a power of two, then ever smaller ones. Chunks never merge beyond that cut, so a
    range larger than the largest of them is never handed out.

    Complexity: `take` and `give` are O(orders), plus a shift of one sorted list.
    Source: Knuth, The Art of Computer Programming 1, section 2.5; used for the
    contiguous baselines of the vLLM paper (SOSP'23, section 6.1).

    >>> space = BuddySpace(13, max_span_blocks=8)
    >>> space.free_runs()
    array([1, 4, 8])
    >>> space.take(3), space.take(2)
    (Span(offset=8, length=4), Span(offset=0, length=2))
    """

    def __init__(self, num_blocks: int, *, max_span_blocks: int) -> None:
        self.num_blocks = num_blocks
        self.num_free = num_blocks
        self._top_order = _order_of(max_span_blocks)
        # invariant: one list of free offsets for each order, ascending.
        self._free: list[list[int]] = [[] for _ in range(self._top_order + 1)]
        self._order_at: dict[int, int] = {}
        offset = 0
        for order in range(self._top_order, -1, -1):
            while num_blocks - offset >= 1 << order:
                self._free[order].append(offset)
                offset += 1 << order
        self._num_seeded = [len(offsets) for offsets in self._free]

    def max_spans(self, num_blocks: int) -> int:
        """Count the ranges of num_blocks that an empty space holds at once."""
        least = _order_of(num_blocks)
        larger = enumerate(self._num_seeded[least:])
        return sum(count << excess for excess, count in larger)

    def take(self, num_blocks: int) -> Span | None:
        """Hand out the lowest of the smallest chunks that cover num_blocks."""
        order = _order_of(num_blocks)
        split = next((k for k in range(order, self._top_order + 1) if self._free[k]), None)
        if split is None:
            return None
        offset = self._free[split].pop(0)
        for half in range(split - 1, order - 1, -1):
            # No chunk of an order below `split` was free, so the list stays sorted.
            self._free[half].append(offset + (1 << half))
        self._order_at[offset] = order
        self.num_free -= 1 << order
        return Span(offset, 1 << order)

    def give(self, offset: int) -> None:
        """Take back the chunk at offset and merge it with its buddy, and so on up."""
        check(offset in self._order_at, f"no span in use starts at block {offset}")
        order = self._order_at.pop(offset)
        self.num_free += 1 << order
        while order < self._top_order:
            free = self._free[order]
            buddy = offset ^ (1 << order)
            index = bisect_left(free, buddy)
            if index == len(free) or free[index] != buddy:
                break
            del free[index]
            offset = min(offset, buddy)
            order += 1
        insort(self._free[order], offset)

    def free_runs(self) -> IndexArray:
        """Sizes of the free chunks, ascending. Neighbours that are no buddies stay two."""
        counts = [len(offsets) for offsets in self._free]
        return np.repeat(1 << np.arange(self._top_order + 1, dtype=np.int64), counts)

    def check_integrity(self) -> None:
        """Raise IntegrityError unless aligned chunks tile the space, buddies merged."""
        used = [Span(offset, 1 << order) for offset, order in self._order_at.items()]
        free = [
            Span(offset, 1 << order)
            for order, offsets in enumerate(self._free)
            for offset in offsets
        ]
        check_tiling(self.num_blocks, used + free)
        check(sum(chunk.length for chunk in free) == self.num_free, "free blocks miscounted")
        for chunk in used + free:
            check(chunk.offset % chunk.length == 0, f"{chunk} is not aligned to its size")
        for order, offsets in enumerate(self._free):
            check(offsets == sorted(offsets), f"free chunks of order {order} are unsorted")
            buddies = {offset ^ (1 << order) for offset in offsets}
            is_merged = order == self._top_order or buddies.isdisjoint(offsets)
            check(is_merged, f"two free buddies of order {order} were not merged")
