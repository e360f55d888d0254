"""More blocks for running rows, as their tokens come to need them."""

from __future__ import annotations

import numpy as np

from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.errors import ConfigError, OutOfBlocks
from paged.types import IndexArray


class Growth:
    """Appends blocks of a pool to the rows of block tables."""

    def __init__(self, tables: BlockTables, pool: BlockPool) -> None:
        self._tables = tables
        self._pool = pool
        # Arrays without axes: numpy works with them twice as fast as with Python's numbers.
        self._size, self._almost = np.array(tables.block_size), np.array(tables.block_size - 1)
        self._none, self._one = np.array(0), np.array(1)

    def num_missing(self, rows: IndexArray, num_tokens: IndexArray) -> int:
        """Count the blocks that `extend` will take."""
        missing_tokens = num_tokens - self._tables.num_blocks[rows] * self._size
        return int(np.add.reduce((missing_tokens.clip(min=0) + self._almost) // self._size))

    def extend(self, rows: IndexArray, num_tokens: IndexArray, *, num_copies: int = 0) -> None:
        """Give rows[i] room for num_tokens[i], if that leaves blocks for num_copies copies.

        Mutates: tables, free space. Raises OutOfBlocks; ConfigError if a row would exceed
        the longest sequence (nothing is changed).
        """
        have = self._tables.num_blocks[rows]
        missing_tokens = num_tokens - have * self._size
        most = missing_tokens.item(missing_tokens.argmax()) if len(rows) else 0
        if most <= 0:
            return
        which = (missing_tokens > self._none).nonzero()[0]
        # Decoding lacks one block a row at most; to look costs less than to divide and sum.
        need = self._one
        if most > self._tables.block_size:
            need = (missing_tokens[which] + self._almost) // self._size
        self._append(rows[which], have[which], need, num_copies)

    def _append(
        self, rows: IndexArray, have: IndexArray, need: IndexArray, num_copies: int
    ) -> None:
        """Give rows, which have some blocks, the ones they need: need[i], or as many for each."""
        num_needed = int(np.add.reduce(need)) if need.ndim else len(rows)
        num_blocks = have + need
        longest = num_blocks.argmax()
        if num_blocks.item(longest) > self._tables.max_blocks_per_row:
            raise ConfigError(
                f"row {rows[longest]} asks for {num_blocks[longest]} blocks, max_model_len allows"
                f" {self._tables.max_blocks_per_row}; end it before"
            )
        num_wanted = num_needed + num_copies
        if not self._pool.can_supply(num_wanted):
            raise OutOfBlocks(num_needed=num_wanted, num_available=self._pool.num_available)
        blocks = self._pool.take(num_needed)
        if num_needed == len(rows):
            self._tables.ids[rows, have] = blocks
        else:
            within = np.arange(num_needed) - np.repeat(np.cumsum(need) - need, need)
            self._tables.ids[np.repeat(rows, need), np.repeat(have, need) + within] = blocks
        self._tables.num_blocks[rows] = num_blocks
