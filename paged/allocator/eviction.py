"""Which cached block nobody uses is given up first."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol

import numpy as np

from paged.errors import check
from paged.types import IndexArray

_NOT_QUEUED = -1


class EvictionQueue(Protocol):
    """Cached blocks that no sequence holds, in the order they will be evicted."""

    def __len__(self) -> int: ...

    def start(self, blocks: IndexArray) -> None:
        """See blocks handed out for new content."""
        ...

    def touch(self, blocks: IndexArray) -> None:
        """See the content of blocks used again, parents no less often than children."""
        ...

    def push(self, blocks: IndexArray) -> None:
        """Add blocks that nobody holds any more; callers put leaves before parents."""
        ...

    def remove(self, blocks: IndexArray) -> None:
        """Take out blocks that are held again or no longer cached."""
        ...

    def pop(self, count: int) -> IndexArray:
        """Take out the count blocks to evict first. The caller checked len()."""
        ...

    def in_order(self) -> IndexArray:
        """All queued blocks, first to be evicted first. A query."""
        ...


class LruQueue:
    """Least recently released first, every operation one array slice.

    A block removed from the middle leaves its entry behind in the log; the entry is
    known to be stale because `_place` of the block points elsewhere. Each entry is
    written once and skipped at most once, so eviction is O(1) amortised. A sequence
    releases its tail first, so leaves are evicted before their parents.
    """

    def __init__(self, num_blocks: int) -> None:
        # invariant: _log[_place[b]] == b for queued b, and _head <= _place[b] < _tail.
        self._log: IndexArray = np.zeros(2 * num_blocks, np.int64)
        # A slice of it is what np.arange gives, at a tenth of the cost.
        self._places: IndexArray = np.arange(2 * num_blocks)
        self._place: IndexArray = np.full(num_blocks, _NOT_QUEUED, np.int64)
        self._head = 0
        self._tail = 0
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def start(self, blocks: IndexArray) -> None:
        """Do nothing: what happened before the release does not count."""

    def touch(self, blocks: IndexArray) -> None:
        """Do nothing: what happened before the release does not count."""

    def push(self, blocks: IndexArray) -> None:
        """Add blocks, the first of them to be evicted first."""
        count = len(blocks)
        if self._tail + count > len(self._log):
            self._compact()
        end = self._tail + count
        self._log[self._tail : end] = blocks
        self._place[blocks] = self._places[self._tail : end]
        self._tail = end
        self._length += count

    def remove(self, blocks: IndexArray) -> None:
        """Take out queued blocks wherever they stand."""
        self._place[blocks] = _NOT_QUEUED
        self._length -= len(blocks)

    def pop(self, count: int) -> IndexArray:
        """Take out the count least recently pushed blocks."""
        taken: list[IndexArray] = []
        missing = count
        while missing or not taken:
            end = min(self._head + missing, self._tail)
            entries = self._log[self._head : end]
            fresh = entries[self._place[entries] == self._places[self._head : end]]
            taken.append(fresh)
            missing -= len(fresh)
            self._head = end
        blocks = taken[0] if len(taken) == 1 else np.concatenate(taken)
        self.remove(blocks)
        return blocks

    def in_order(self) -> IndexArray:
        """All queued blocks, least recently pushed first."""
        entries = self._log[self._head : self._tail]
        return entries[self._place[entries] == self._places[self._head : self._tail]]

    def _compact(self) -> None:
        blocks = self.in_order().copy()
        self._log[: len(blocks)] = blocks
        self._place[blocks] = self._places[: len(blocks)]
        self._head, self._tail = 0, len(blocks)
        check(len(blocks) == self._length, "eviction queue lost count of its blocks")


class LfuQueue:
    """Least often used first, ties by least recent release. O(log n) a block.

    Whoever is given a block that is there already is given its parents too, so a parent's
    count is no smaller than its child's; at equal counts the child was released first.
    Leaves go first, as they must.
    """

    def __init__(self, num_blocks: int) -> None:
        self._num_uses: IndexArray = np.zeros(num_blocks, np.int64)
        # invariant: a heap entry is alive if and only if its stamp is the block's own.
        self._stamp: IndexArray = np.full(num_blocks, _NOT_QUEUED, np.int64)
        self._heap: list[tuple[int, int, int]] = []
        self._next_stamp = 0
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def start(self, blocks: IndexArray) -> None:
        """Forget how often the old content was used."""
        self._num_uses[blocks] = 0

    def touch(self, blocks: IndexArray) -> None:
        """Count one more use."""
        self._num_uses[blocks] += 1

    def push(self, blocks: IndexArray) -> None:
        """Add blocks, at equal use the first of them to be evicted first."""
        for block, num_uses in zip(blocks.tolist(), self._num_uses[blocks].tolist(), strict=True):
            self._stamp[block] = self._next_stamp
            heapq.heappush(self._heap, (num_uses, self._next_stamp, block))
            self._next_stamp += 1
        self._length += len(blocks)

    def remove(self, blocks: IndexArray) -> None:
        """Take out queued blocks wherever they stand."""
        self._stamp[blocks] = _NOT_QUEUED
        self._length -= len(blocks)
        if len(self._heap) > 2 * len(self._stamp):
            self._heap = [entry for entry in self._heap if self._is_alive(entry)]
            heapq.heapify(self._heap)

    def pop(self, count: int) -> IndexArray:
        """Take out the count least often used blocks."""
        taken: list[int] = []
        while len(taken) < count:
            entry = heapq.heappop(self._heap)
            if self._is_alive(entry):
                taken.append(entry[2])
                self._stamp[entry[2]] = _NOT_QUEUED
        self._length -= count
        return np.array(taken, np.int64)

    def in_order(self) -> IndexArray:
        """All queued blocks, least often used first."""
        alive = sorted(entry for entry in self._heap if self._is_alive(entry))
        return np.array([block for _, _, block in alive], np.int64)

    def _is_alive(self, entry: tuple[int, int, int]) -> bool:
        return int(self._stamp[entry[2]]) == entry[1]


EVICTION_QUEUES: dict[str, Callable[[int], EvictionQueue]] = {"lru": LruQueue, "lfu": LfuQueue}
