"""What state machines of allocators have in common: a record of tokens beside the allocator."""

from __future__ import annotations

import pickle
from typing import Generic, TypeVar

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from paged.allocator.base import NO_MOVES, BlockMoves
from paged.allocator.block_table import BlockTables
from paged.allocator.grouped import GroupedAllocator
from paged.allocator.paged import PagedAllocator
from paged.errors import OutOfBlocks
from tests.helpers.toy_model import ToyPool

Kind = TypeVar("Kind", PagedAllocator, GroupedAllocator)


class AllocatorMachine(RuleBasedStateMachine, Generic[Kind]):
    """Random steps as a scheduler makes them: preempt, grow, then swap in or admit.

    known: the tokens of each live row, computed or not yet. swapped: rows on the host, in
    the sets that went there together. seen: prompts, to be hit again. tokens: those computed,
    by row.
    """

    max_model_len: int
    max_rows: int
    max_prompt_tokens: int
    max_new_tokens: int

    def begin(self, allocator: Kind) -> None:
        """Start with an empty allocator."""
        self.allocator: Kind = allocator
        size = allocator.block_size
        width = -(-self.max_model_len // size) * size
        self.tokens = np.zeros((self.max_rows, width), np.int32)
        self.known: dict[int, list[int]] = {}
        self.seen: list[list[int]] = []
        self.swapped: list[list[int]] = []

    @property
    def on_device(self) -> list[int]:
        away = {row for group in self.swapped for row in group}
        return sorted(set(self.known) - away)

    def grow(
        self,
        data: st.DataObject,
        rows: list[int],
        written: dict[int, int],
        max_step_tokens: int | None = None,
    ) -> BlockMoves:
        """Grow some of rows; written: first position that is new in each of them."""
        rows = [row for row in rows if self.known[row] and data.draw(st.integers(0, 3))]
        have = [int(self.allocator.tables.num_tokens[row]) for row in rows]
        most = self.max_model_len if max_step_tokens is None else max_step_tokens
        lengths: list[int] = []
        for row, num_computed in zip(rows, have, strict=True):
            if num_computed == len(self.known[row]):
                extra = data.draw(st.lists(st.integers(0, 1), max_size=self.max_new_tokens))
                self.known[row] = (self.known[row] + extra)[: self.max_model_len]
            end = min(len(self.known[row]), num_computed + most)
            lengths.append(data.draw(st.just(end) | st.integers(num_computed, end)))
        before = pickle.dumps(self.allocator)
        try:
            copies = self.allocator.grow(np.array(rows, np.int64), np.array(lengths, np.int64))
        except OutOfBlocks:
            event("out of blocks")
            assert pickle.dumps(self.allocator) == before
            return NO_MOVES
        written.update(zip(rows, have, strict=True))
        return copies

    def choose_tokens(self, data: st.DataObject) -> list[int]:
        """Draw new tokens, or some that were seen before, cut or extended."""
        # Two kinds of tokens and short repeats: equal prefixes are the rule, not the exception.
        new = st.lists(st.integers(0, 1), min_size=1, max_size=self.max_prompt_tokens)
        seen = data.draw(st.sampled_from([[], *self.seen]))
        cut = data.draw(st.sampled_from([len(seen), len(seen), max(0, len(seen) - 1)]))
        tokens = seen[:cut] + data.draw(new if not cut else st.just([]) | new)
        tokens = tokens[: self.max_model_len - 1]
        self.seen.append(tokens)
        return tokens

    def swap_out(self, data: st.DataObject) -> BlockMoves:
        """Move some rows to the host, if it has room."""
        rows = self.on_device
        chosen = data.draw(st.lists(st.sampled_from(rows), unique=True)) if rows else []
        if not chosen:
            return NO_MOVES
        before = pickle.dumps(self.allocator)
        moves = self.allocator.swap_out(np.array(chosen, np.int64))
        if moves is None:
            assert pickle.dumps(self.allocator) == before
            return NO_MOVES
        event("swap out")
        self.swapped.append(chosen)
        return moves

    def swap_in(self, chosen: list[int]) -> BlockMoves:
        """Bring rows back that went to the host together, if there is room."""
        before = pickle.dumps(self.allocator)
        moves = self.allocator.swap_in(np.array(chosen, np.int64))
        if moves is None:
            assert pickle.dumps(self.allocator) == before
            return NO_MOVES
        self.swapped.remove(chosen)
        return moves

    def compute(self, tables: BlockTables, pool: ToyPool, written: dict[int, int]) -> None:
        """Write what is new of each row to a pool, as a step does."""
        size = tables.block_size
        last = {row: pool.last_value(tables.ids[row], n) for row, n in written.items()}
        slots: set[int] = set()
        for row, first in written.items():
            end = int(tables.num_tokens[row])
            ids = tables.ids[row].tolist()
            new = {ids[p // size] * size + p % size for p in range(first, end)}
            assert len(new) == end - first
            assert not new & slots, "two tokens of one step in one slot"
            slots |= new
            pool.write(tables.ids[row], first, self.known[row][first:end], last[row])
            self.tokens[row, :end] = self.known[row][:end]

    def release(self, rows: list[int]) -> None:
        """Give rows back, live or not."""
        self.allocator.release(np.array(rows, np.int64))
        for row in rows:
            self.known.pop(row, None)
        self.swapped = [[row for row in group if row not in rows] for group in self.swapped]
        self.swapped = [group for group in self.swapped if group]
