"""Host memory for the blocks of preempted sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paged.allocator.base import NO_MOVES, BlockMoves
from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.prefix_cache import PrefixCache
from paged.allocator.usage import HeldBlocks
from paged.errors import UnknownRow, check
from paged.types import BoolArray, IndexArray


@dataclass(frozen=True, slots=True)
class _Swapped:
    """Columns of a row's block table that lie in host blocks."""

    columns: IndexArray
    host_blocks: IndexArray


class SwapSpace:
    """Which blocks of which rows are on the host.

    Each distinct block of the rows moved together moves once, and sharing among them
    is rebuilt when they return. Blocks that others hold too stay on the device, held.
    """

    def __init__(
        self,
        tables: BlockTables,
        pool: BlockPool,
        cache: PrefixCache | None,
        num_host_blocks: int,
    ) -> None:
        self._tables = tables
        self._pool = pool
        self._cache = cache
        self._host = BlockPool(num_host_blocks)
        self._swapped: dict[int, _Swapped] = {}

    @property
    def rows(self) -> list[int]:
        """Rows that are swapped out."""
        return list(self._swapped)

    def is_swapped(self, row: int) -> bool:
        """Say whether a row is swapped out."""
        return row in self._swapped

    def num_host_blocks_of(self, rows: IndexArray) -> int:
        """Count the device blocks that `move_in` will take. Raises UnknownRow."""
        for row in rows.tolist():
            if row not in self._swapped:
                raise UnknownRow(f"row {row} is not swapped out")
        return len(self._host_blocks(rows))

    def resident(self, row: int) -> BoolArray:
        """[num_blocks of row] which of its blocks it holds on the device."""
        mask = np.ones(int(self._tables.num_blocks[row]), np.bool_)
        mask[: self._tables.first_block[row]] = False
        if row in self._swapped:
            mask[self._swapped[row].columns] = False
        return mask

    def held_blocks(self) -> HeldBlocks:
        """All blocks that live rows hold on the device, one entry a row and block."""
        rows = self._tables.live_rows()
        columns = [np.flatnonzero(self.resident(row)) for row in rows.tolist()]
        row = np.repeat(rows, [len(part) for part in columns])
        column = np.concatenate(columns) if columns else np.zeros(0, np.int64)
        return HeldBlocks(self._tables.ids[row, column], row, column)

    def can_move_out(self, rows: IndexArray) -> bool:
        """Say whether the host has room for the blocks that only these rows hold."""
        return len(self._own(rows)) <= self._host.num_available

    def _own(self, rows: IndexArray) -> IndexArray:
        """Blocks that only these rows hold, ascending."""
        ids = np.concatenate([self._tables.row_ids(row).astype(np.int64) for row in rows.tolist()])
        distinct, held = np.unique(ids, return_counts=True)
        return distinct[self._pool.references[distinct] == held]

    def move_out(self, rows: IndexArray) -> BlockMoves | None:
        """Move the blocks that only these rows hold to the host, all or nothing.

        None if the host pool is too small. Moved blocks leave the prefix cache.
        """
        own = self._own(rows)
        if len(own) > self._host.num_available:
            return None
        host = self._host.take(len(own))
        self._host.references[host] = 0
        for row in rows.tolist():
            self._swap_row(row, own, host)
        if self._cache is not None:
            self._cache.forget(own[self._cache.is_cached(own)])
        self._pool.references[own] = 1
        self._pool.drop(own)
        return BlockMoves(own, host) if len(own) else NO_MOVES

    def _swap_row(self, row: int, own: IndexArray, host: IndexArray) -> None:
        ids = self._tables.row_ids(row)
        places = np.flatnonzero(np.isin(ids, own))
        host_blocks = host[np.searchsorted(own, ids[places])]
        self._host.references[host_blocks] += 1
        self._swapped[row] = _Swapped(places + self._tables.first_block[row], host_blocks)

    def move_in(self, rows: IndexArray) -> BlockMoves:
        """Bring rows back to the device. Raises OutOfBlocks (nothing is changed)."""
        host = self._host_blocks(rows)
        device = self._pool.take(len(host))
        self._pool.references[device] = 0
        for row in rows.tolist():
            swapped = self._swapped.pop(row)
            blocks = device[np.searchsorted(host, swapped.host_blocks)]
            self._tables.ids[row, swapped.columns] = blocks
            self._pool.references[blocks] += 1
            self._host.drop(swapped.host_blocks)
        return BlockMoves(host, device) if len(host) else NO_MOVES

    def forget(self, row: int) -> None:
        """Give up what a swapped row has on the host."""
        self._host.drop(self._swapped.pop(row).host_blocks)

    def _host_blocks(self, rows: IndexArray) -> IndexArray:
        parts = [self._swapped[row].host_blocks for row in rows.tolist()]
        return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

    def check_integrity(self) -> None:
        """Raise IntegrityError unless host blocks are held exactly by swapped rows."""
        self._host.check_integrity()
        expected = np.zeros(self._host.num_blocks, np.int64)
        for row, swapped in self._swapped.items():
            check(bool(self._tables.is_live[row]), f"row {row} is swapped out and not live")
            np.add.at(expected, swapped.host_blocks, 1)
        check(
            np.array_equal(expected, self._host.references),
            "host blocks are not held exactly by the swapped rows",
        )
