"""Contiguous virtual ranges backed by physical pages on demand.

Source: vAttention (arXiv 2405.04437) and microsoft/vattention, vattention/vattention.cu,
read for deferred reclamation; here at the granularity of a block table.
"""

from __future__ import annotations

import math

import numpy as np

from paged.allocator.base import NO_MOVES, Admission, BlockMoves, Demand
from paged.allocator.exclusive import ExclusiveAllocator
from paged.config import CacheConfig
from paged.errors import ConfigError, OutOfBlocks, check
from paged.types import IndexArray


class VirtualAllocator(ExclusiveAllocator):
    """Maps pages of `blocks_per_page` consecutive blocks into a range for each row.

    Every row is a slot with a virtual range of max_model_len tokens. Page p is the blocks
    [p * blocks_per_page, (p + 1) * blocks_per_page); blocks behind the last whole page are
    never handed out. A page is *mapped* to a slot, and *granted* once the slot's live row
    needs it. Reclamation is deferred: a slot keeps the pages of its last row, until its
    next row needs them or another slot takes them for want of free pages, slots that
    were used longest ago first.

    num_pages_mapped: pages mapped so far, for a model of the mapping latency; a page that
        was kept and used again counts once.
    """

    def __init__(self, config: CacheConfig, *, max_rows: int) -> None:
        super().__init__(config, max_rows=max_rows)
        self.blocks_per_page = config.blocks_per_page
        self.page_slots = config.blocks_per_page * config.block_size
        self.num_pages = config.num_blocks // config.blocks_per_page
        self.num_watermark_pages = math.ceil(config.watermark * self.num_pages)
        self.num_pages_mapped = 0
        max_pages_per_row = -(-config.max_model_len // self.page_slots)
        # Columns at or beyond _num_mapped[row] are garbage.
        self._pages: IndexArray = np.zeros((max_rows, max_pages_per_row), np.int64)
        # invariant: _num_granted <= _num_mapped, and 0 where the row is not live.
        self._num_mapped: IndexArray = np.zeros(max_rows, np.int64)
        self._num_granted: IndexArray = np.zeros(max_rows, np.int64)
        self._num_granted_pages = 0
        self._free_pages: list[int] = list(range(self.num_pages - 1, -1, -1))
        # invariant: the slots with pages mapped beyond those granted, oldest use first.
        self._keepers: dict[int, None] = {}

    @property
    def num_spare_pages(self) -> int:
        """Pages that can be granted: free ones and those that slots merely keep."""
        return self.num_pages - self._num_granted_pages

    def refusal(self, demand: Demand) -> str | None:
        """Say why an empty pool cannot hold the tokens known now, None if it can."""
        num_tokens = demand.num_tokens
        if num_tokens > self.max_model_len:
            return f"{num_tokens} tokens exceed max_model_len, {self.max_model_len}"
        if demand.num_sequences > self.tables.max_rows:
            return (
                f"{demand.num_sequences} sequences exceed the {self.tables.max_rows}"
                " that can run at once"
            )
        num_pages = self._pages_for(num_tokens) * demand.num_sequences
        if num_pages > self.num_pages:
            return (
                f"{demand.num_sequences} x {num_tokens} tokens need {num_pages} pages of"
                f" {self.page_slots} slots, the pool has {self.num_pages}"
            )
        return None

    def admit(self, demand: Demand) -> Admission | None:
        """Grant each sequence the pages of the tokens known now, or none at all.

        Sequences that wait for a fork get theirs at once too, so that the fork of an
        admitted request neither fails nor writes to pages given up in the same step.
        """
        if demand.num_sequences > self.tables.num_free_rows:
            return None
        num_pages = self._pages_for(demand.num_tokens)
        left = self.num_spare_pages - num_pages * demand.num_sequences
        if self.refusal(demand) is not None or left < self._num_kept_back(demand):
            return None
        rows = [self._take_slot(num_pages) for _ in range(demand.num_sequences)]
        return Admission(rows=np.array(rows, np.int64))

    def _pages_for(self, num_tokens: int) -> int:
        return -(-num_tokens // self.page_slots)

    def _num_kept_back(self, demand: Demand) -> int:
        """Pages that an admission must leave; none if nothing runs that could grow."""
        if self.tables.num_free_rows == self.tables.max_rows:
            return 0
        return self.num_watermark_pages + -(-demand.headroom_blocks // self.blocks_per_page)

    def _take_slot(self, num_pages: int) -> int:
        """Take the free slot that keeps most of num_pages and least beyond, and grant them."""
        free = np.flatnonzero(~self.tables.is_live)
        mapped = self._num_mapped[free]
        row = int(free[np.lexsort((mapped, -mapped.clip(max=num_pages)))[0]])
        self.tables.take_row(row)
        self._grant(row, num_pages)
        return row

    def _grant(self, row: int, num_pages: int) -> None:
        """Grant a live row its first num_pages pages. The caller has checked for room."""
        first = int(self._num_granted[row])
        mapped = int(self._num_mapped[row])
        # The slot's own pages leave the pool of kept ones before any is reclaimed.
        self._keepers.pop(row, None)
        self._num_granted[row] = num_pages
        self._num_granted_pages += num_pages - first
        if num_pages > mapped:
            self._pages[row, mapped:num_pages] = self._take_pages(num_pages - mapped)
            self._num_mapped[row] = num_pages
        elif num_pages < mapped:
            self._keepers[row] = None
        self._granted_slots[row] = num_pages * self.page_slots
        self._fill_table(row, first, num_pages)

    def _fill_table(self, row: int, first_page: int, end_page: int) -> None:
        """Write the block ids of pages [first_page, end_page) of a row's range."""
        per_page, tables = self.blocks_per_page, self.tables
        # careful: the last page of a range may reach beyond max_model_len.
        end = min(end_page * per_page, tables.max_blocks_per_row)
        virtual = np.arange(first_page * per_page, end)
        pages = self._pages[row, virtual // per_page]
        tables.ids[row, first_page * per_page : end] = pages * per_page + virtual % per_page
        tables.num_blocks[row] = end

    def _take_pages(self, count: int) -> list[int]:
        """Map count pages, taking kept ones back where free ones do not suffice."""
        while len(self._free_pages) < count:
            self._reclaim(count - len(self._free_pages))
        self.num_pages_mapped += count
        return [self._free_pages.pop() for _ in range(count)]

    def _reclaim(self, most: int) -> None:
        """Free up to `most` pages from the end of the slot used longest ago."""
        row = next(iter(self._keepers))
        mapped, granted = int(self._num_mapped[row]), int(self._num_granted[row])
        left = max(granted, mapped - most)
        self._free_pages.extend(self._pages[row, left:mapped].tolist())
        self._num_mapped[row] = left
        if left == granted:
            del self._keepers[row]

    def grow(self, rows: IndexArray, num_tokens: IndexArray) -> BlockMoves:
        """Grant rows the pages that their next tokens need.

        Raises: OutOfBlocks; ConfigError beyond max_model_len (nothing is changed).
        """
        is_short = num_tokens > self._granted_slots[rows]
        if is_short.any():
            self._grow_pages(rows[is_short], num_tokens[is_short])
        self.tables.num_tokens[rows] = num_tokens
        return NO_MOVES

    def _grow_pages(self, rows: IndexArray, num_tokens: IndexArray) -> None:
        longest = int(num_tokens.max())
        if longest > self.max_model_len:
            raise ConfigError(
                f"row {int(rows[num_tokens.argmax()])} asks for {longest} tokens,"
                f" max_model_len allows {self.max_model_len}; end the sequence before"
            )
        num_pages = -(-num_tokens // self.page_slots)
        num_needed = int((num_pages - self._num_granted[rows]).sum())
        if num_needed > self.num_spare_pages:
            raise OutOfBlocks(
                num_needed=num_needed * self.blocks_per_page,
                num_available=self.num_spare_pages * self.blocks_per_page,
            )
        for row, count in zip(rows.tolist(), num_pages.tolist(), strict=True):
            self._grant(row, count)

    def _drop(self, row: int) -> None:
        """Leave the pages of a live row with its slot, now the one used last."""
        self._num_granted_pages -= int(self._num_granted[row])
        self._num_granted[row] = 0
        self._keepers.pop(row, None)
        if self._num_mapped[row]:
            self._keepers[row] = None

    def _rounding_slots(self) -> int:
        return 0

    def _cached_free_slots(self) -> int:
        return (self.num_spare_pages - len(self._free_pages)) * self.page_slots

    def check_integrity(self) -> None:
        """Raise IntegrityError unless each page is free or mapped to one slot."""
        super().check_integrity()
        granted, mapped = self._num_granted, self._num_mapped
        check(not bool(granted[~self.tables.is_live].any()), "a free slot has granted pages")
        check(bool((granted <= mapped).all()), "a slot has pages granted but not mapped")
        check(int(granted.sum()) == self._num_granted_pages, "granted pages miscounted")
        keepers = set(np.flatnonzero(mapped > granted).tolist())
        check(set(self._keepers) == keepers, "the record of kept pages is wrong")
        slots = zip(self._pages, mapped.tolist(), strict=True)
        pages = [page for pages, count in slots for page in pages[:count].tolist()]
        is_whole = sorted(pages + self._free_pages) == list(range(self.num_pages))
        check(is_whole, "a page is lost, or mapped or free twice")
        for row in self.tables.live_rows().tolist():
            self._check_row(row)

    def _check_row(self, row: int) -> None:
        count, ids = int(self._num_granted[row]), self.tables.row_ids(row)
        starts = self._pages[row, :count, None] * self.blocks_per_page
        blocks = (starts + np.arange(self.blocks_per_page)).ravel()
        blocks = blocks[: self.tables.max_blocks_per_row]
        check(np.array_equal(ids, blocks), f"table of row {row} is not its pages")
        is_granted = int(self._granted_slots[row]) == count * self.page_slots
        check(is_granted, f"granted slots of row {row} are not its pages")
