"""Reference-counted physical blocks: free, held, or cached and evictable."""

from __future__ import annotations

import numpy as np

from paged.allocator.eviction import EVICTION_QUEUES, EvictionQueue
from paged.allocator.prefix_cache import PrefixCache
from paged.errors import OutOfBlocks, check
from paged.types import IndexArray

# One part in this many of the evictable blocks is freed when a block must be.
_EVICTION_SHARE = 32
# An array without axes: numpy works with it twice as fast as with Python's number.
_ONE = np.array(1)


class BlockPool:
    """Blocks [0, num_blocks), each free, held by someone, or cached and held by none.

    The free list is a stack in one array, so taking or giving k blocks is one slice.
    With a prefix cache, a block dropped by its last holder stays hittable until it is
    evicted; it counts as available all the same.

    The blocks of sequences that ended are put aside, and given up together before anybody
    sees what that changes: for many it costs hardly more than for a few. Blocks that were never
    handed out are taken last: their memory is the system's until it is written, and the first
    write to a page of it takes longer than computing what is written.
    """

    def __init__(
        self, num_blocks: int, cache: PrefixCache | None = None, *, eviction: str = "lru"
    ) -> None:
        self.num_blocks = num_blocks
        self._references: IndexArray = np.zeros(num_blocks, np.int64)
        # What `drop_all` was told and has not happened yet, one entry for each sequence.
        self._put_aside: list[IndexArray] = []
        self._cache = cache
        self._evictable: EvictionQueue = EVICTION_QUEUES[eviction](num_blocks)
        # Free blocks are _stack[_top:]; a fresh pool hands out 0, 1, 2, ...
        self._stack: IndexArray = np.arange(num_blocks, dtype=np.int64)
        self._top = 0
        # invariant: blocks that were never handed out are _stack[_num_used:].
        self._num_used = 0

    @property
    def references(self) -> IndexArray:
        """[num_blocks] holders of each block."""
        self._drop_put_aside()
        return self._references

    @property
    def num_free(self) -> int:
        """Blocks that hold nothing worth keeping."""
        self._drop_put_aside()
        return self.num_blocks - self._top

    @property
    def num_evictable(self) -> int:
        """Blocks that nobody holds but whose content can still be hit."""
        self._drop_put_aside()
        return len(self._evictable)

    @property
    def num_available(self) -> int:
        """Blocks that `take` can supply."""
        self._drop_put_aside()
        return self._num_at_hand()

    def _num_at_hand(self) -> int:
        """Blocks that are available, without those put aside."""
        return self.num_blocks - self._top + len(self._evictable)

    def can_supply(self, count: int) -> bool:
        """Say whether `take` can supply so many blocks."""
        return count <= self._num_at_hand() or count <= self.num_available

    @property
    def num_held(self) -> int:
        """Blocks that someone holds."""
        return self.num_blocks - self.num_available

    def cached_blocks(self) -> IndexArray:
        """Blocks that nobody holds but whose content can be hit, first to be evicted first."""
        self._drop_put_aside()
        return self._evictable.in_order()

    def take(self, count: int) -> IndexArray:
        """Hand out count blocks with one reference each, evicting if need be.

        Raises OutOfBlocks (nothing is changed).
        """
        if count > self.num_blocks - self._top and count > self.num_free:
            self._evict(count)
        end = self._top + count
        if end > self._num_used:
            end = self._use_new(count)
        blocks = self._stack[self._top : end].copy()
        self._top = end
        self._references[blocks] = 1
        self._evictable.start(blocks)
        return blocks

    def _use_new(self, count: int) -> int:
        """Return where count free blocks end, in which new ones are only what is missing."""
        self._drop_put_aside()
        end = self._top + count
        self._num_used = max(self._num_used, end)
        return end

    def _evict(self, num_needed: int) -> None:
        """Free cached blocks until num_needed are free, or raise OutOfBlocks.

        A full cache is evicted from in nearly every step; a small share of it at once
        costs about as much as one block.
        """
        if num_needed > self.num_available:
            raise OutOfBlocks(num_needed=num_needed, num_available=self.num_available)
        share = len(self._evictable) // _EVICTION_SHARE
        evicted = self._evictable.pop(max(num_needed - self.num_free, share))
        if self._cache is not None:
            self._cache.forget(evicted)
        self._push_behind(evicted)
        # all that were free before are about to be handed out
        self._num_used = self.num_blocks

    def retain(self, blocks: IndexArray, count: int = 1) -> None:
        """Add count references to each of several distinct blocks."""
        idle = blocks[self.references[blocks] == 0]
        if len(idle):
            self._evictable.remove(idle)
        self.references[blocks] += count

    def reuse(self, blocks: IndexArray, count: int = 1) -> None:
        """Retain the leading blocks of a sequence for others that need their content."""
        self._evictable.touch(blocks)
        self.retain(blocks, count)

    def drop(self, blocks: IndexArray) -> None:
        """Give up one reference to each of several distinct blocks, leaves first."""
        left = self.references[blocks] - _ONE
        self.references[blocks] = left
        self._let_go(blocks[left == 0] if np.count_nonzero(left) else blocks)

    def drop_all(self, sequences: list[IndexArray]) -> None:
        """Give up the blocks of several sequences, which may share some; leaves first."""
        self._put_aside += sequences

    def _drop_put_aside(self) -> None:
        if not self._put_aside:
            return
        sequences, self._put_aside = self._put_aside, []
        blocks = np.concatenate(sequences) if len(sequences) > 1 else sequences[0]
        held = self._references[blocks]
        if len(held) and held.item(held.argmax()) > 1:
            for own in sequences:
                self.drop(own)
            return
        # A block held once cannot occur twice, so all of them go in one slice.
        self._references[blocks] = 0
        self._let_go(blocks)

    def _let_go(self, idle: IndexArray) -> None:
        if self._cache is None:
            self._push(idle)
            return
        is_cached = self._cache.is_cached(idle)
        cached = idle[is_cached]
        self._evictable.push(cached)
        if len(cached) < len(idle):
            self._push(idle[~is_cached])

    def discard(self, blocks: IndexArray) -> None:
        """Free cached blocks that nobody holds at once: their content is useless."""
        self._drop_put_aside()
        self._evictable.remove(blocks)
        if self._cache is not None:
            self._cache.forget(blocks)
        self._push(blocks)

    def num_idle(self, blocks: IndexArray) -> int:
        """How many of these blocks nobody holds."""
        return int(np.count_nonzero(self.references[blocks] == 0))

    def _push_behind(self, blocks: IndexArray) -> None:
        """Add free blocks to be handed out after those that are free already."""
        start = self._top - len(blocks)
        self._stack[start : start + self.num_free] = self._stack[self._top :].copy()
        self._stack[self.num_blocks - len(blocks) :] = blocks
        self._top = start

    def _push(self, blocks: IndexArray) -> None:
        start = self._top - len(blocks)
        self._stack[start : self._top] = blocks
        self._top = start

    def check_integrity(self) -> None:
        """Raise IntegrityError unless free, evictable and held partition the pool."""
        queued = self.cached_blocks()
        free = self._stack[self._top :]
        held = np.flatnonzero(self.references > 0)
        everyone = np.concatenate([free, queued, held])
        check(
            np.array_equal(np.sort(everyone), np.arange(self.num_blocks)),
            f"{len(free)} free + {len(queued)} evictable + {len(held)} held blocks"
            f" are not exactly the {self.num_blocks} of the pool",
        )
        check(bool((self.references >= 0).all()), "a block has a negative reference count")
        if self._cache is None:
            return
        self._cache.check_integrity()
        check(bool(self._cache.is_cached(queued).all()), "an evictable block is not cached")
        check(not bool(self._cache.is_cached(free).any()), "a free block is still hittable")

    def check_leaves_first(self) -> None:
        """Raise IntegrityError if a cached block would be evicted before its children."""
        if self._cache is not None:
            self._cache.check_leaves_first(self.cached_blocks())
