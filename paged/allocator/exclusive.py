"""What allocators whose rows share nothing have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from paged.allocator.base import Admission, BlockMoves, Demand
from paged.allocator.block_table import BlockTables
from paged.allocator.usage import SlotUsage, split_grants
from paged.config import CacheConfig
from paged.errors import ConfigError, UnknownRow, check
from paged.types import IndexArray, TokenArray


class ExclusiveAllocator(ABC):
    """Allocator in which every block has one owner, so a fork is a copy.

    A subclass decides what a row is granted. It keeps `_granted_slots[max_rows]`, slots
    granted to each live row, in step with `tables`; rows that are not live have 0.
    """

    def __init__(self, config: CacheConfig, *, max_rows: int) -> None:
        self.name = config.allocator
        self.num_blocks = config.num_blocks
        self.block_size = config.block_size
        self.max_model_len = config.max_model_len
        self.tables = BlockTables(
            max_rows=max_rows,
            max_model_len=config.max_model_len,
            block_size=config.block_size,
        )
        self.group_tables = (self.tables,)
        self._granted_slots: IndexArray = np.zeros(max_rows, np.int64)

    @property
    def capacity_slots(self) -> int:
        """Slots of the whole pool."""
        return self.num_blocks * self.block_size

    def prefix_keys(self, tokens: TokenArray) -> IndexArray | None:
        """Say None: there is no cache to look anything up in."""
        return None

    @abstractmethod
    def refusal(self, demand: Demand) -> str | None:
        """Say why this demand can never be met by an empty pool, None if it can."""

    @abstractmethod
    def admit(self, demand: Demand) -> Admission | None:
        """Give rows and first slots to a request, or None if it must wait."""

    @abstractmethod
    def grow(self, rows: IndexArray, num_tokens: IndexArray) -> BlockMoves:
        """Make slots [0, num_tokens[i]) of rows[i] writable."""

    def fork(self, parent: int, children: IndexArray, num_tokens: int) -> BlockMoves:
        """Copy the blocks of parent's first num_tokens tokens into those of children.

        Raises: OutOfBlocks; UnknownRow; ConfigError if parent has fewer tokens or a child
        has some already (nothing is changed).
        """
        num_blocks = -(-num_tokens // self.block_size)
        src = self.tables.row_ids(parent)[:num_blocks].astype(np.int64)
        if num_tokens > self.tables.num_tokens[parent]:
            raise ConfigError(
                f"row {parent} holds {int(self.tables.num_tokens[parent])} tokens,"
                f" cannot copy {num_tokens}; fork once they are written"
            )
        if not self.tables.is_live[children].all():
            raise UnknownRow(f"rows {children.tolist()} are not all live; admit them first")
        if self.tables.num_tokens[children].any():
            raise ConfigError(f"rows {children.tolist()} hold tokens; fork into empty rows")
        self.grow(children, np.full(len(children), num_tokens, np.int64))
        dst = self.tables.ids[children, :num_blocks].ravel().astype(np.int64)
        return BlockMoves(np.tile(src, len(children)), dst)

    def empty(self, rows: IndexArray) -> None:
        """Take back all tokens of live rows; what was granted to them stays theirs."""
        self.tables.num_tokens[rows] = 0

    def release(self, rows: IndexArray) -> None:
        """Give back rows and all they hold. Rows that are not live are passed over."""
        is_live = self.tables.is_live
        live = [row for row in dict.fromkeys(rows.tolist()) if is_live[row]]
        for row in live:
            self._drop(row)
            self._granted_slots[row] = 0
        self.tables.give_rows(live)

    @abstractmethod
    def _drop(self, row: int) -> None:
        """Take back the blocks of a live row."""

    def commit(self, rows: IndexArray, tokens: TokenArray) -> None:  # noqa: B027
        """Do nothing: no block is ever shared, so none becomes hittable."""

    def abandon(self) -> None:  # noqa: B027
        """Do nothing, for the same reason."""

    def swap_out(self, rows: IndexArray) -> BlockMoves | None:
        """Say None: nothing is moved to the host."""
        return None

    def swap_in(self, rows: IndexArray, headroom_blocks: int = 0) -> BlockMoves | None:
        """Say None: nothing was moved to the host."""
        return None

    def usage(self, final_tokens: IndexArray | None) -> SlotUsage:
        """Put every slot in one class. final_tokens: as for `Allocator.usage`."""
        rows = self.tables.live_rows()
        granted = self._granted_slots[rows]
        final = None if final_tokens is None else final_tokens[rows]
        split = split_grants(self.tables.num_tokens[rows], granted, final)
        rounding, cached_free = self._rounding_slots(), self._cached_free_slots()
        return SlotUsage(
            capacity=self.capacity_slots,
            token=split.token,
            reserved=split.reserved,
            internal=split.internal,
            granted_unused=split.granted_unused,
            rounding=rounding,
            cached_free=cached_free,
            free=self.capacity_slots - int(granted.sum()) - rounding - cached_free,
        )

    @abstractmethod
    def _rounding_slots(self) -> int:
        """Slots consumed for live rows beyond what was granted."""

    @abstractmethod
    def _cached_free_slots(self) -> int:
        """Slots owned by no row that are kept for reuse."""

    def check_integrity(self) -> None:
        """Raise IntegrityError unless every block has at most one owner."""
        tables = self.tables
        tables.check_integrity()
        rows = tables.live_rows()
        is_free = ~tables.is_live
        check(not bool(self._granted_slots[is_free].any()), "a free row has granted slots")
        held = [tables.row_ids(row) for row in rows.tolist()]
        owned = np.concatenate(held) if held else np.zeros(0, np.int32)
        check(bool(((owned >= 0) & (owned < self.num_blocks)).all()), "block id out of range")
        check(len(np.unique(owned)) == len(owned), "a block has two owners")
