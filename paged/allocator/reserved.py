"""Contiguous reservation: one range of blocks for a sequence's whole life.

Source: the baselines Orca (Max), (Pow2), (Oracle) of the vLLM paper, SOSP'23, section 6.1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paged.allocator.address_space import AddressSpace, Span
from paged.allocator.base import NO_MOVES, Admission, BlockMoves, Demand
from paged.allocator.exclusive import ExclusiveAllocator
from paged.config import CacheConfig
from paged.errors import OutOfBlocks, check
from paged.types import IndexArray

ReservationPolicy = Callable[[Demand, int], int]
"""Tokens to reserve for each sequence of a demand, given max_model_len."""


def reserve_max(demand: Demand, max_model_len: int) -> int:
    """Reserve room for the longest sequence that the model allows."""
    return max_model_len


def reserve_oracle(demand: Demand, max_model_len: int) -> int:
    """Reserve what the sequence will really come to, or may come to if nobody knows.

    Knowing the output length in advance is out of reach in practice.
    """
    final_tokens = demand.max_tokens if demand.final_tokens is None else demand.final_tokens
    return min(final_tokens, demand.max_tokens)


def reserve_pow2(demand: Demand, max_model_len: int) -> int:
    """Reserve the prompt and its output rounded up to the next power of two.

    At most max_model_len. The paper rounds the output alone: a true output of 25 tokens
    reserves 32.

    >>> reserve_pow2(Demand(num_tokens=20, max_tokens=100, final_tokens=45), 2048)
    52
    """
    num_tokens = reserve_oracle(demand, max_model_len)
    num_new_tokens = num_tokens - demand.num_tokens
    rounded = demand.num_tokens + (1 << (num_new_tokens - 1).bit_length())
    # A sequence longer than the model allows stays so, for `refusal` to see.
    return max(num_tokens, min(rounded, max_model_len))


class ReservedAllocator(ExclusiveAllocator):
    """Reserves whole blocks at admission; a sequence never gets more or fewer.

    A row's block table is its range of consecutive ids, complete from the start, so
    growth only counts tokens. A running sequence is never short of memory; watermark and
    headroom, which guard against that, are therefore ignored.

    space: where the ranges come from; owned by this allocator from here on.
    """

    def __init__(
        self,
        config: CacheConfig,
        *,
        max_rows: int,
        space: AddressSpace,
        policy: ReservationPolicy,
    ) -> None:
        super().__init__(config, max_rows=max_rows)
        self._space = space
        self._policy = policy
        self._span_of: dict[int, Span] = {}
        self._num_span_blocks = 0
        self._num_granted_blocks = 0

    def refusal(self, demand: Demand) -> str | None:
        """Say why an empty pool cannot hold the reservations, None if it can."""
        num_tokens = self._policy(demand, self.max_model_len)
        if num_tokens > self.max_model_len:
            return f"{num_tokens} tokens exceed max_model_len, {self.max_model_len}"
        if num_tokens < demand.num_tokens:
            return f"{demand.num_tokens} tokens exceed the {num_tokens} said to be the most"
        if demand.num_sequences > self.tables.max_rows:
            return (
                f"{demand.num_sequences} sequences exceed the {self.tables.max_rows}"
                " that can run at once"
            )
        most = self._space.max_spans(self._blocks_for(num_tokens))
        if demand.num_sequences > most:
            return (
                f"{demand.num_sequences} x {num_tokens} reserved tokens do not fit:"
                f" {self.num_blocks} blocks of {self.block_size} hold {most} such ranges"
            )
        return None

    def admit(self, demand: Demand) -> Admission | None:
        """Reserve one range for each sequence, or none at all."""
        has_rows = demand.num_sequences <= self.tables.num_free_rows
        if not has_rows or self.refusal(demand) is not None:
            return None
        granted = self._blocks_for(self._policy(demand, self.max_model_len))
        spans = self._take_spans(granted, demand.num_sequences)
        if spans is None:
            return None
        rows = self.tables.take_rows(demand.num_sequences)
        for row, span in zip(rows.tolist(), spans, strict=True):
            self._span_of[row] = span
            self._num_span_blocks += span.length
            self.tables.ids[row, :granted] = np.arange(span.offset, span.offset + granted)
        self._num_granted_blocks += granted * len(rows)
        self.tables.num_blocks[rows] = granted
        self._granted_slots[rows] = granted * self.block_size
        return Admission(rows=rows)

    def _blocks_for(self, num_tokens: int) -> int:
        return -(-num_tokens // self.block_size)

    def _take_spans(self, num_blocks: int, count: int) -> list[Span] | None:
        """Take count ranges or, leaving the space as it was, none."""
        spans: list[Span] = []
        for _ in range(count):
            span = self._space.take(num_blocks)
            if span is None:
                for taken in spans:
                    self._space.give(taken.offset)
                return None
            spans.append(span)
        return spans

    def grow(self, rows: IndexArray, num_tokens: IndexArray) -> BlockMoves:
        """Count tokens. Raises OutOfBlocks beyond a reservation (nothing is changed)."""
        granted = self._granted_slots[rows]
        if (num_tokens > granted).any():
            missing = (num_tokens - granted).clip(min=0)
            num_needed = int((-(-missing // self.block_size)).sum())
            raise OutOfBlocks(num_needed=num_needed, num_available=0)
        self.tables.num_tokens[rows] = num_tokens
        return NO_MOVES

    def _drop(self, row: int) -> None:
        span = self._span_of.pop(row)
        self._num_span_blocks -= span.length
        self._num_granted_blocks -= int(self.tables.num_blocks[row])
        self._space.give(span.offset)

    def _rounding_slots(self) -> int:
        return (self._num_span_blocks - self._num_granted_blocks) * self.block_size

    def _cached_free_slots(self) -> int:
        return 0

    def free_runs(self) -> IndexArray:
        """Sizes in blocks of the free pieces, for the external-fragmentation index."""
        return self._space.free_runs()

    def check_integrity(self) -> None:
        """Raise IntegrityError unless tables are the ranges taken from the space."""
        super().check_integrity()
        self._space.check_integrity()
        rows = self.tables.live_rows().tolist()
        check(set(self._span_of) == set(rows), "rows and ranges do not match")
        check(
            self._space.num_free + self._num_span_blocks == self.num_blocks,
            "the space has ranges that no row holds",
        )
        spans = self._span_of.values()
        check(sum(span.length for span in spans) == self._num_span_blocks, "spans miscounted")
        num_granted = int(self.tables.num_blocks[rows].sum())
        check(num_granted == self._num_granted_blocks, "granted blocks miscounted")
        for row, span in self._span_of.items():
            ids = self.tables.row_ids(row)
            expected = np.arange(span.offset, span.offset + len(ids))
            check(len(ids) <= span.length, f"row {row} is granted more than {span}")
            check(np.array_equal(ids, expected), f"table of row {row} is not {span}")
            is_granted = int(self._granted_slots[row]) == len(ids) * self.block_size
            check(is_granted, f"granted slots of row {row} are not its blocks")
