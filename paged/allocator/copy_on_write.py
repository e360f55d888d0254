"""Private copies of part-filled blocks that several sequences hold.

Only the block a sequence writes next can need one: full blocks are never written again.
Source: PagedAttention, SOSP'23, section 4.4.
"""

from __future__ import annotations

import numpy as np

from paged.allocator.base import NO_MOVES, BlockMoves
from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.types import BoolArray, IndexArray

Tail = tuple[int, int]
"""Row and column of a block in the tables."""


class CopyOnWrite:
    """Knows which rows may share their last block, so that others cost nothing."""

    def __init__(self, tables: BlockTables, pool: BlockPool) -> None:
        self._tables = tables
        self._pool = pool
        self._may_share: BoolArray = np.zeros(tables.max_rows, np.bool_)
        self._num_may_share = 0

    @property
    def is_idle(self) -> bool:
        """Say whether no row may share its last block."""
        return not self._num_may_share

    def watch(self, rows: IndexArray) -> None:
        """Note that rows hold blocks in common."""
        self._may_share[rows] = True
        self._num_may_share = int(np.count_nonzero(self._may_share))

    def forget(self, rows: IndexArray) -> None:
        """Note that rows own the block they write next, or hold nothing any more."""
        if self._num_may_share:
            self._may_share[rows] = False
            self._num_may_share = int(np.count_nonzero(self._may_share))

    def shared_tails(self, rows: IndexArray) -> list[Tail]:
        """Find the tails of rows about to grow that need a private copy. A query.

        The last of several growing rows that together hold a block keeps it.
        """
        if not self._num_may_share:
            return []
        holders: dict[int, int] = {}
        shared: list[Tail] = []
        for row in rows[self._may_share[rows]].tolist():
            column, used = divmod(int(self._tables.num_tokens[row]), self._tables.block_size)
            if not used:
                continue
            block = int(self._tables.ids[row, column])
            holders.setdefault(block, int(self._pool.references[block]))
            if holders[block] > 1:
                holders[block] -= 1
                shared.append((row, column))
        return shared

    def copy(self, tails: list[Tail]) -> BlockMoves:
        """Give tails fresh blocks. Raises OutOfBlocks (nothing is changed)."""
        if not tails:
            return NO_MOVES
        rows, columns = np.array(tails, np.int64).T
        src = self._tables.ids[rows, columns].astype(np.int64)
        dst = self._pool.take(len(src))
        self._tables.ids[rows, columns] = dst
        # A holder is left for every source (see shared_tails), so none becomes free.
        np.subtract.at(self._pool.references, src, 1)
        return BlockMoves(src, dst)
