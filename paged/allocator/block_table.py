"""Dense block tables: one row of physical block ids for each live sequence."""

from __future__ import annotations

import numpy as np

from paged.errors import OutOfBlocks, UnknownRow, check
from paged.types import BlockArray, BoolArray, IndexArray


class BlockTables:
    """Block ids, block counts and token counts of every live sequence.

    Shapes: `ids[max_rows, max_blocks_per_row]` int32, row-major, so a kernel can
    read a row as it lies. Columns at or beyond `num_blocks[row]` are garbage, and so are
    those before `first_block[row]`: given up, for their tokens have left the window.

    A row is handed out by `take_rows` and keeps its index until `give_rows`.
    `num_tokens[row]` counts a token from the step that writes it onwards.
    """

    def __init__(self, *, max_rows: int, max_model_len: int, block_size: int) -> None:
        self.max_rows = max_rows
        self.block_size = block_size
        self.max_blocks_per_row = -(-max_model_len // block_size)
        # careful: np.zeros maps pages lazily, np.empty + fill would touch them all.
        self.ids: BlockArray = np.zeros((max_rows, self.max_blocks_per_row), np.int32)
        self.num_blocks: IndexArray = np.zeros(max_rows, np.int64)
        self.first_block: IndexArray = np.zeros(max_rows, np.int64)
        self.num_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self.is_live: BoolArray = np.zeros(max_rows, np.bool_)
        self._free_rows: list[int] = list(range(max_rows - 1, -1, -1))

    @property
    def num_free_rows(self) -> int:
        """Rows that `take_rows` can still hand out."""
        return len(self._free_rows)

    def take_rows(self, count: int) -> IndexArray:
        """Hand out `count` empty rows. Raises OutOfBlocks if there are fewer."""
        if count > len(self._free_rows):
            raise OutOfBlocks(num_needed=count, num_available=len(self._free_rows))
        left = len(self._free_rows) - count
        rows = self._free_rows[left:]
        del self._free_rows[left:]
        rows.reverse()
        for row in rows:
            self.is_live[row] = True
        return np.array(rows, np.int64)

    def take_row(self, row: int) -> None:
        """Hand out one particular empty row. O(rows). Raises UnknownRow if it is live."""
        if not 0 <= row < self.max_rows or self.is_live[row]:
            raise UnknownRow(f"row {row} is not free")
        self._free_rows.remove(row)
        self.is_live[row] = True

    def give_rows(self, rows: list[int]) -> None:
        """Take rows back. The caller has released their blocks already."""
        # One by one: they are few, and an array of a few costs more than its items.
        for row in rows:
            self.is_live[row] = False
            self.num_blocks[row] = 0
            self.first_block[row] = 0
            self.num_tokens[row] = 0
        self._free_rows.extend(rows)

    def live_rows(self) -> IndexArray:
        """Rows in use, ascending."""
        return np.flatnonzero(self.is_live)

    def row_ids(self, row: int) -> BlockArray:
        """View of the ids of the blocks that one live row holds. Raises UnknownRow."""
        if not 0 <= row < self.max_rows or not self.is_live[row]:
            raise UnknownRow(f"row {row} holds no live sequence")
        return self.ids[row, self.first_block.item(row) : self.num_blocks.item(row)]

    def check_integrity(self) -> None:
        """Raise IntegrityError unless rows are either live or free, never both."""
        free = np.array(self._free_rows, np.int64)
        check(len(np.unique(free)) == len(free), "a row is in the free list twice")
        check(not bool(self.is_live[free].any()), "a free row is marked live")
        check(len(free) + int(self.is_live.sum()) == self.max_rows, "a row is lost")
        check(not bool(self.num_blocks[free].any()), "a free row still has blocks")
        is_whole = (self.first_block >= 0) & (self.first_block <= self.num_blocks)
        check(bool(is_whole.all()), "more blocks are given up than there were")
        room = self.num_blocks * self.block_size
        check(bool((self.num_tokens <= room).all()), "tokens exceed the blocks held")
