"""Several KV groups under one allocator: a pool and block tables for each, the same rows.

Every operation happens in all groups or in none: what could fail is asked of each first.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from paged.allocator.base import Admission, BlockMoves, Demand, concat_moves
from paged.allocator.paged import PagedAllocator
from paged.allocator.usage import SlotUsage, sum_usage
from paged.config import CacheConfig
from paged.errors import check
from paged.types import IndexArray, TokenArray


class GroupedAllocator:
    """A paged allocator for each KV group of a model, moving in step.

    groups: one for each of the configuration's; not to be called but for queries. Rows are
        handed out in the same order by all, so a sequence has one row everywhere.
    A slot holds a token in the layers of one group, so the slots of a pool differ in bytes
    from those of another; sums over groups count them alike.
    """

    name = "paged"

    def __init__(self, config: CacheConfig, *, max_rows: int) -> None:
        self.groups = tuple(
            PagedAllocator(config, max_rows=max_rows, group=group) for group in config.pools
        )
        self.num_blocks = config.num_blocks
        self.block_size = config.block_size
        self.group_tables = tuple(group.tables for group in self.groups)
        self.tables = self.group_tables[0]

    @property
    def capacity_slots(self) -> int:
        """Slots of all pools."""
        return self.num_blocks * self.block_size

    def prefix_keys(self, tokens: TokenArray) -> IndexArray | None:
        """Keys of the full blocks of tokens, the same in all groups. O(tokens)."""
        return self.groups[0].prefix_keys(tokens)

    def refusal(self, demand: Demand) -> str | None:
        """Say why a group can never meet a demand, None if all can."""
        refusals = (group.refusal(demand) for group in self.groups)
        return next((refusal for refusal in refusals if refusal is not None), None)

    def admit(self, demand: Demand) -> Admission | None:
        """Give a request its rows and first blocks in all groups.

        A prefix is hit as far as every group has it cached.
        """
        intake = self.groups[0].intake
        if not intake.has_rows(demand):
            return None
        hits = self._match(demand)
        if intake.is_whole(demand, hits[0]) and not self._fits(demand, hits):
            # Without room for copies the last block is computed anew.
            hits = [hit[:-1] for hit in hits]
        if not self._fits(demand, hits):
            return None
        each = [
            group.intake.place(demand, hit) for group, hit in zip(self.groups, hits, strict=True)
        ]
        return Admission(
            rows=each[0].rows,
            num_cached_tokens=each[0].num_cached_tokens,
            copies=_in_groups(admission.copies for admission in each),
        )

    def _match(self, demand: Demand) -> list[IndexArray]:
        hits = [group.intake.match(demand) for group in self.groups]
        shortest = min(map(len, hits))
        return [hit[:shortest] for hit in hits]

    def _fits(self, demand: Demand, hits: list[IndexArray]) -> bool:
        pairs = zip(self.groups, hits, strict=True)
        return all(group.intake.fits(demand, hit) for group, hit in pairs)

    def grow(self, rows: IndexArray, num_tokens: IndexArray) -> BlockMoves:
        """Give rows what their next tokens need in every group."""
        for group in self.groups:
            group.check_growth(rows, num_tokens)
        return _in_groups(group.grow(rows, num_tokens) for group in self.groups)

    def fork(self, parent: int, children: IndexArray, num_tokens: int) -> BlockMoves:
        """Share the blocks of parent's first num_tokens tokens in every group."""
        for group in self.groups:
            group.check_fork(parent, children, num_tokens)
        return _in_groups(group.fork(parent, children, num_tokens) for group in self.groups)

    def empty(self, rows: IndexArray) -> None:
        """Take back all blocks of live rows and keep the rows."""
        for group in self.groups:
            group.empty(rows)

    def release(self, rows: IndexArray) -> None:
        """Give back rows and what they hold in every group."""
        for group in self.groups:
            group.release(rows)

    def commit(self, rows: IndexArray, tokens: TokenArray) -> None:
        """Take note in every group that the step which wrote rows has run."""
        for group in self.groups:
            group.commit(rows, tokens)

    def abandon(self) -> None:
        """Take note in every group that the step has failed."""
        for group in self.groups:
            group.abandon()

    def swap_out(self, rows: IndexArray) -> BlockMoves | None:
        """Move what only these rows hold to the host, if it has room for every group."""
        if not all(group.can_swap_out(rows) for group in self.groups):
            return None
        return _in_groups(group.swap_out(rows) for group in self.groups)

    def swap_in(self, rows: IndexArray, headroom_blocks: int = 0) -> BlockMoves | None:
        """Bring rows back, if there is room in every group."""
        if not all(group.can_swap_in(rows, headroom_blocks) for group in self.groups):
            return None
        return _in_groups(group.swap_in(rows, headroom_blocks) for group in self.groups)

    def usage(self, final_tokens: IndexArray | None) -> SlotUsage:
        """Put every slot of all pools in one class."""
        return sum_usage(self.group_usage(final_tokens))

    def group_usage(self, final_tokens: IndexArray | None) -> tuple[SlotUsage, ...]:
        """Put every slot of each group's pool in one class."""
        return tuple(group.usage(final_tokens) for group in self.groups)

    def check_integrity(self) -> None:
        """Raise IntegrityError unless every group is whole and all hold the same rows."""
        first = self.tables
        for group in self.groups:
            group.check_integrity()
            own = group.tables
            is_same = np.array_equal(own.is_live, first.is_live)
            check(is_same, "a row is live in one group and not in another")
            is_same = np.array_equal(own.num_tokens, first.num_tokens)
            check(is_same, "a row has more tokens in one group than in another")


def _in_groups(moves: Iterable[BlockMoves | None]) -> BlockMoves:
    """Join the moves of all groups, in their order."""
    return concat_moves(
        [
            BlockMoves(part.src, part.dst, np.full(len(part), number))
            for number, part in enumerate(moves)
            if part is not None and len(part)
        ]
    )
