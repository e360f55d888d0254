"""Blocks that have left a sliding window: no token to come reads them.

The key at position p is read by queries up to position p + window - 1.
"""

from __future__ import annotations

import numpy as np

from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.types import IndexArray


def most_window_blocks(window: int, *, block_size: int, num_step_tokens: int) -> int:
    """Count the blocks that a sequence holds at most, however long it gets.

    num_step_tokens: tokens that a step adds at most; 0 for what it holds between steps.

    >>> most_window_blocks(8, block_size=4, num_step_tokens=0)
    3
    """
    num_tokens = _reach(window, block_size) + num_step_tokens
    # The first of them may be the last of its block.
    return 1 + -(-(num_tokens - 1) // block_size)


def _reach(window: int, block_size: int) -> int:
    """Tokens before the next one that a sequence keeps.

    careful: a whole block at least, however narrow the window, so that the last full block
    is always held: the prefix chain goes on from it.
    """
    return max(window - 1, block_size)


class SlidingWindow:
    """Gives up the leading blocks of rows as their windows move on.

    most_blocks: blocks that a row holds at most at once.
    """

    def __init__(
        self, tables: BlockTables, pool: BlockPool, *, window: int, max_step_tokens: int | None
    ) -> None:
        self._tables = tables
        self._pool = pool
        self._reach_tokens = _reach(window, tables.block_size)
        self.most_blocks = tables.max_blocks_per_row
        if max_step_tokens is not None:
            most = most_window_blocks(
                window, block_size=tables.block_size, num_step_tokens=max_step_tokens
            )
            self.most_blocks = min(self.most_blocks, most)

    def first_block(self, num_tokens: int) -> int:
        """First block that the token after num_tokens others, or a later one, reads."""
        return max(0, num_tokens - self._reach_tokens) // self._tables.block_size

    def moved(self, rows: IndexArray) -> IndexArray:
        """Rows whose window has left a block that they still hold. O(rows), a query."""
        return rows[self._first_read(rows) > self._tables.first_block[rows]]

    def _first_read(self, rows: IndexArray) -> IndexArray:
        """First block that the next token of each row reads; below 0 where none has been left."""
        return (self._tables.num_tokens[rows] - self._reach_tokens) // self._tables.block_size

    def slide(self, rows: IndexArray) -> None:
        """Give up the blocks that the windows of rows, each of them `moved`, have left."""
        tables, end = self._tables, self._first_read(rows)
        spans = zip(rows.tolist(), tables.first_block[rows].tolist(), end.tolist(), strict=True)
        # Leaves first, as everywhere: the queue evicts in the order of release.
        left = [tables.ids[row, first:last][::-1].astype(np.int64) for row, first, last in spans]
        self._pool.drop_all(left)
        tables.first_block[rows] = end
