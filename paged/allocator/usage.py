"""Slot classes: where every slot of the KV pool goes at one instant.

Source: the definitions follow the vLLM paper (SOSP'23, Figure 2), split further so
that the classes sum to the capacity of the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from paged.allocator.block_table import BlockTables
from paged.errors import IntegrityError
from paged.types import BlockArray, IndexArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotUsage:
    """Slots of the pool by class, in slots (1 slot = K and V of one token).

    token: hold K and V of a live request; a shared block counts once.
    reserved: granted to a live request that will fill them before it ends.
    internal: granted to a live request that will never fill them.
    granted_unused: reserved + internal while final lengths are unknown, else 0.
    rounding: consumed by the allocator beyond what it granted (buddy round-up).
    cached_free: owned by nobody, kept because their contents or mapping may be reused.
    free: everything else.
    """

    capacity: int
    token: int
    reserved: int
    internal: int
    granted_unused: int
    rounding: int
    cached_free: int
    free: int

    def __post_init__(self) -> None:
        parts = self.classes()
        if min(parts.values()) < 0 or sum(parts.values()) != self.capacity:
            raise IntegrityError(
                f"slot classes must be at least 0 and sum to {self.capacity}, got {parts}"
            )

    def classes(self) -> dict[str, int]:
        """Slots by class name, in the order of the paper's stacked bars."""
        return {
            "token": self.token,
            "reserved": self.reserved,
            "internal": self.internal,
            "granted_unused": self.granted_unused,
            "rounding": self.rounding,
            "cached_free": self.cached_free,
            "free": self.free,
        }


def sum_usage(parts: Sequence[SlotUsage]) -> SlotUsage:
    """Add up the slots of several pools, class by class."""
    names = [field.name for field in fields(SlotUsage)]
    return SlotUsage(**{name: sum(getattr(part, name) for part in parts) for name in names})


@dataclass(frozen=True, slots=True)
class GrantedSplit:
    """Granted slots of live rows, split by what they hold or will hold."""

    token: int
    reserved: int
    internal: int
    granted_unused: int


def split_grants(used: IndexArray, granted: IndexArray, final: IndexArray | None) -> GrantedSplit:
    """Split grants that no two rows share. All arrays are in slots, one entry a grant."""
    token = int(np.add.reduce(used))
    unused = int(np.add.reduce(granted)) - token
    if final is None:
        return GrantedSplit(token, 0, 0, unused)
    internal = int(np.add.reduce(granted - np.minimum(granted, np.maximum(final, used))))
    return GrantedSplit(token, unused - internal, internal, 0)


def split_own_grants(tables: BlockTables, final: IndexArray | None) -> GrantedSplit:
    """Split the blocks of live rows that share none. final[max_rows]: as for the allocator."""
    rows, size = tables.live_rows(), tables.block_size
    given_up = tables.first_block[rows] * size
    used = tables.num_tokens[rows] - given_up
    granted = tables.num_blocks[rows] * size - given_up
    return split_grants(used, granted, None if final is None else final[rows] - given_up)


@dataclass(frozen=True, slots=True)
class HeldBlocks:
    """Block ids held by rows, one entry for each (row, block) pair.

    row, column: where the block stands in the tables.
    """

    block: BlockArray
    row: IndexArray
    column: IndexArray


def split_shared_grants(
    tables: BlockTables, held: HeldBlocks, final: IndexArray | None
) -> tuple[GrantedSplit, int]:
    """Split blocks that rows may share, each block counted once.

    A shared block is as full as its fullest holder makes it. Also returns the number of
    distinct blocks. final[max_rows]: as for `Allocator.usage`.
    """
    size = tables.block_size
    blocks, entry = np.unique(held.block, return_inverse=True)

    def fill(tokens_by_row: IndexArray) -> IndexArray:
        slots = (tokens_by_row[held.row] - held.column * size).clip(0, size)
        fullest = np.zeros(len(blocks), np.int64)
        np.maximum.at(fullest, entry, slots)
        return fullest

    used = fill(tables.num_tokens)
    granted = np.full(len(blocks), size, np.int64)
    split = split_grants(used, granted, None if final is None else fill(final))
    return split, len(blocks)
