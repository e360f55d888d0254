"""First-fit and best-fit allocation: ranges of exactly the size asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left

import numpy as np

from paged.allocator.address_space import Span, check_tiling
from paged.errors import check
from paged.types import IndexArray


class _HoleSpace(ABC):
    """Address space with one list of holes; a subclass chooses among them.

    Complexity: O(holes), and there is at most one hole more than there are spans.
    """

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self.num_free = num_blocks
        # invariant: ascending by offset, and no two holes touch.
        self._holes: list[Span] = [Span(0, num_blocks)]
        self._length_at: dict[int, int] = {}

    @abstractmethod
    def _choose(self, num_blocks: int) -> int | None:
        """Index of the hole to cut num_blocks from."""

    def max_spans(self, num_blocks: int) -> int:
        """Count the ranges of num_blocks that an empty space holds at once."""
        return self.num_blocks // num_blocks

    def take(self, num_blocks: int) -> Span | None:
        """Cut num_blocks off the low end of the chosen hole, None if none is big enough."""
        check(num_blocks >= 1, f"a span has at least 1 block, got {num_blocks}")
        index = self._choose(num_blocks)
        if index is None:
            return None
        hole = self._holes[index]
        rest = Span(hole.offset + num_blocks, hole.length - num_blocks)
        self._holes[index : index + 1] = [rest] if rest.length else []
        self._length_at[hole.offset] = num_blocks
        self.num_free -= num_blocks
        return Span(hole.offset, num_blocks)

    def give(self, offset: int) -> None:
        """Take back the span at offset and merge it with the holes that touch it."""
        check(offset in self._length_at, f"no span in use starts at block {offset}")
        length = self._length_at.pop(offset)
        self.num_free += length
        start, end = offset, offset + length
        first = last = bisect_left(self._holes, offset, key=lambda hole: hole.offset)
        if first > 0 and self._holes[first - 1].end == start:
            first -= 1
            start = self._holes[first].offset
        if last < len(self._holes) and self._holes[last].offset == end:
            end = self._holes[last].end
            last += 1
        self._holes[first:last] = [Span(start, end - start)]

    def free_runs(self) -> IndexArray:
        """Sizes of the holes, by address."""
        return np.array([hole.length for hole in self._holes], np.int64)

    def check_integrity(self) -> None:
        """Raise IntegrityError unless holes and spans tile the space, holes merged."""
        used = [Span(offset, length) for offset, length in self._length_at.items()]
        check_tiling(self.num_blocks, used + self._holes)
        check(int(self.free_runs().sum()) == self.num_free, "free blocks miscounted")
        for left, right in zip(self._holes, self._holes[1:], strict=False):
            check(left.end < right.offset, f"{left} and {right} are unsorted or unmerged")


class FirstFitSpace(_HoleSpace):
    """Address space that cuts from the lowest hole that is big enough.

    >>> space = FirstFitSpace(10)
    >>> [space.take(size) for size in (4, 1, 2)]
    [Span(offset=0, length=4), Span(offset=4, length=1), Span(offset=5, length=2)]
    >>> space.give(0)
    >>> space.take(3)
    Span(offset=0, length=3)
    """

    def _choose(self, num_blocks: int) -> int | None:
        fitting = (i for i, hole in enumerate(self._holes) if hole.length >= num_blocks)
        return next(fitting, None)


class BestFitSpace(_HoleSpace):
    """Address space that cuts from the smallest hole that is big enough.

    Of equal holes the lowest is taken.

    >>> space = BestFitSpace(10)
    >>> [space.take(size) for size in (4, 1, 2)]
    [Span(offset=0, length=4), Span(offset=4, length=1), Span(offset=5, length=2)]
    >>> space.give(0)
    >>> space.take(3)
    Span(offset=7, length=3)
    """

    def _choose(self, num_blocks: int) -> int | None:
        fitting = (
            (hole.length, i) for i, hole in enumerate(self._holes) if hole.length >= num_blocks
        )
        best = min(fitting, default=None)
        return None if best is None else best[1]
