"""The allocator protocol: who owns which KV slots.

Every policy, reserved ones too, answers with block tables, so any of them can feed
the same kernels. Sequences are named by their row in `tables`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from paged.allocator.block_table import BlockTables
from paged.allocator.usage import SlotUsage
from paged.types import IndexArray, TokenArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one request asks of an allocator when it is admitted.

    num_tokens: tokens known now (prompt, plus those generated before a preemption);
        an on-demand allocator gives them room at once.
    max_tokens: most tokens a sequence can come to (prompt + output limit).
    final_tokens: tokens it really will come to, known only to an oracle.
    num_sequences: rows wanted; the first gets the tokens, the others wait for `fork`.
    tokens: the token ids, for a prefix cache; None where none are known.
    prefix_keys: what `Allocator.prefix_keys` said of tokens when the request arrived, so
        that a blocked request is not hashed again each time its turn comes.
    headroom_blocks: blocks that must stay free beyond the watermark (back-off of a
        request that was preempted before).
    """

    num_tokens: int
    max_tokens: int
    final_tokens: int | None = None
    num_sequences: int = 1
    tokens: TokenArray | None = None
    prefix_keys: IndexArray | None = None
    headroom_blocks: int = 0


def _no_blocks() -> IndexArray:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class BlockMoves:
    """Whole-block copies `src[i] -> dst[i]`; all may run at once, in any order.

    group[i]: KV group in whose pool it is made; None: each is made in the pools of all.
    """

    src: IndexArray = field(default_factory=_no_blocks)
    dst: IndexArray = field(default_factory=_no_blocks)
    group: IndexArray | None = None

    def __len__(self) -> int:
        return len(self.src)

    def of(self, group: int) -> BlockMoves:
        """Return the moves to make in the pool of one KV group."""
        if self.group is None:
            return self
        chosen = self.group == group
        return BlockMoves(self.src[chosen], self.dst[chosen])


NO_MOVES = BlockMoves()


def concat_moves(parts: list[BlockMoves]) -> BlockMoves:
    """Join several sets of moves that do not overlap."""
    parts = [part for part in parts if len(part)]
    if len(parts) <= 1:
        return parts[0] if parts else NO_MOVES
    groups = [part.group for part in parts if part.group is not None]
    return BlockMoves(
        np.concatenate([part.src for part in parts]),
        np.concatenate([part.dst for part in parts]),
        np.concatenate(groups) if groups else None,
    )


@dataclass(slots=True, kw_only=True, eq=False)
class Admission:
    """Rows given to an admitted request. Not to be written to (frozen, it costs 2 us more).

    rows: one per sequence; rows[0] has room for the demanded tokens.
    num_cached_tokens: leading tokens whose K and V are in place already. Always less
        than the tokens demanded, so at least one is computed and gives logits.
    copies: copies the executor makes before this step writes anything.
    """

    rows: IndexArray
    num_cached_tokens: int = 0
    copies: BlockMoves = NO_MOVES


class Allocator(Protocol):
    """Owner of the KV pool. A mutator that raises or says None changed nothing.

    tables: rows, and the blocks of the first KV group. group_tables: those of each KV group
        that has its own, with the same rows; one entry serves all groups.
    """

    name: str
    tables: BlockTables
    group_tables: tuple[BlockTables, ...]
    num_blocks: int
    block_size: int

    @property
    def capacity_slots(self) -> int:
        """Slots of the whole pool: num_blocks * block_size."""
        ...

    def prefix_keys(self, tokens: TokenArray) -> IndexArray | None:
        """Keys by which the full blocks of tokens are looked up; None without a cache."""
        ...

    def refusal(self, demand: Demand) -> str | None:
        """Say why this demand can never be met by an empty pool, None if it can."""
        ...

    def admit(self, demand: Demand) -> Admission | None:
        """Give rows and first slots to a request, or None if it must wait.

        Mutates: tables, free space. A demand that `refusal` accepts is always
        admitted when no row is live.
        """
        ...

    def grow(self, rows: IndexArray, num_tokens: IndexArray) -> BlockMoves:
        """Make slots [0, num_tokens[i]) of rows[i] writable from its old length on.

        Sets tables.num_tokens[rows] = num_tokens. Returns copy-on-write copies.
        Raises OutOfBlocks (nothing is changed). O(rows) in numpy.
        """
        ...

    def fork(self, parent: int, children: IndexArray, num_tokens: int) -> BlockMoves:
        """Give children, which hold nothing, the first num_tokens tokens of parent.

        All or nothing. Sharing allocators return no moves. Raises OutOfBlocks.
        """
        ...

    def empty(self, rows: IndexArray) -> None:
        """Take back all tokens of live rows and keep the rows, to fork into."""
        ...

    def release(self, rows: IndexArray) -> None:
        """Give back rows and all they hold. Rows that are not live are passed over."""
        ...

    def commit(self, rows: IndexArray, tokens: TokenArray) -> None:
        """Tell the allocator that the step which wrote these rows has run.

        tokens[max_rows, width]: token ids by row and position, width a multiple of the
        block size. Full blocks become hittable here and not before; pins on copy sources
        are dropped.
        """
        ...

    def abandon(self) -> None:
        """Tell the allocator, in place of `commit`, that the step it served has failed.

        What the step was to write never becomes hittable. Its rows are still to release.
        """
        ...

    def swap_out(self, rows: IndexArray) -> BlockMoves | None:
        """Move what rows own alone to the host; None if it cannot (then recompute)."""
        ...

    def swap_in(self, rows: IndexArray, headroom_blocks: int = 0) -> BlockMoves | None:
        """Bring swapped rows back, sharing rebuilt; None if there is no room yet.

        headroom_blocks: as in `Demand`.
        """
        ...

    def usage(self, final_tokens: IndexArray | None) -> SlotUsage:
        """Put every slot in one class.

        final_tokens[max_rows]: tokens whose K and V the live rows will have stored when
        they end (prompt + output - 1); None while serving.
        """
        ...

    def check_integrity(self) -> None:
        """Raise IntegrityError unless every block is owned exactly as recorded."""
        ...
