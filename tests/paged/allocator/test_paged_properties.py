"""The paged allocator against a record of tokens and a pool that holds real contents."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from paged.allocator.base import NO_MOVES, Admission, BlockMoves, Demand, concat_moves
from paged.allocator.paged import PagedAllocator
from paged.config import EVICTIONS, CacheConfig
from paged.errors import OutOfBlocks
from tests.helpers.toy_model import ToyPool, values_of

MAX_MODEL_LEN = 20
MAX_ROWS = 5

# Two kinds of tokens and short repeats: equal prefixes are the rule, not the exception.
token_lists = st.lists(st.integers(0, 1), min_size=1, max_size=12)

configs = st.builds(
    CacheConfig,
    num_blocks=st.integers(2, 14),
    block_size=st.integers(1, 4),
    max_model_len=st.just(MAX_MODEL_LEN),
    watermark=st.sampled_from([0.0, 0.2]),
    enable_prefix_caching=st.booleans(),
    eviction=st.sampled_from(EVICTIONS),
    num_host_blocks=st.integers(0, 8),
)


class PagedMachine(RuleBasedStateMachine):
    """Random steps as a scheduler makes them: preempt, grow, then swap in or admit.

    known: the tokens of each live row, computed or not yet. swapped: rows on the host, in
    the groups that went there together. seen: prompts, to be hit again. Every step runs
    on a pool of real contents.
    """

    @initialize(config=configs, keys_collide=st.booleans())
    def start(self, config: CacheConfig, keys_collide: bool) -> None:
        self.has_cache = config.enable_prefix_caching
        self.allocator = PagedAllocator(config, max_rows=MAX_ROWS)
        if keys_collide and self.allocator._cache is not None:
            # All blocks at one place of a sequence have one key: only the check of the
            # contents tells them apart.
            self.allocator._cache._within[:] = 0
        self.pool = ToyPool(
            num_blocks=config.num_blocks,
            block_size=config.block_size,
            num_host_blocks=config.num_host_blocks,
        )
        width = -(-MAX_MODEL_LEN // config.block_size) * config.block_size
        self.tokens = np.zeros((MAX_ROWS, width), np.int32)
        self.known: dict[int, list[int]] = {}
        self.seen: list[list[int]] = []
        self.swapped: list[list[int]] = []

    @property
    def on_device(self) -> list[int]:
        away = {row for group in self.swapped for row in group}
        return sorted(set(self.known) - away)

    @rule(
        data=st.data(),
        num_out=st.integers(0, 2),
        num_new=st.integers(0, 2),
        is_returning=st.booleans(),
    )
    def step(self, data: st.DataObject, num_out: int, num_new: int, is_returning: bool) -> None:
        swap_out = [self._swap_out(data) for _ in range(num_out)]
        running = self.on_device
        written: dict[int, int] = {}
        copies = [self._grow(data, running, written)]
        swap_in: list[BlockMoves] = []
        if is_returning and self.swapped:
            group = data.draw(st.sampled_from(self.swapped))
            swap_in.append(self._swap_in(group))
            if group not in self.swapped:
                copies.append(self._grow(data, group, written))
        else:
            rows: list[int] = []
            for _ in range(num_new):
                admission = self._admit(data, self._choose_tokens(data))
                copies.append(admission.copies)
                rows += [row for row in admission.rows.tolist() if self.known[row]]
            copies.append(self._grow(data, rows, written))
        self._run(concat_moves(swap_out), concat_moves(swap_in), concat_moves(copies), written)

    def _grow(self, data: st.DataObject, rows: list[int], written: dict[int, int]) -> BlockMoves:
        rows = [row for row in rows if self.known[row] and data.draw(st.integers(0, 3))]
        have = [int(self.allocator.tables.num_tokens[row]) for row in rows]
        lengths: list[int] = []
        for row, num_computed in zip(rows, have, strict=True):
            if num_computed == len(self.known[row]):
                extra = data.draw(st.lists(st.integers(0, 1), max_size=4))
                self.known[row] = (self.known[row] + extra)[:MAX_MODEL_LEN]
            num_known = len(self.known[row])
            lengths.append(data.draw(st.just(num_known) | st.integers(num_computed, num_known)))
        before = pickle.dumps(self.allocator)
        try:
            copies = self.allocator.grow(np.array(rows, np.int64), np.array(lengths, np.int64))
        except OutOfBlocks:
            assert pickle.dumps(self.allocator) == before
            return NO_MOVES
        written.update(zip(rows, have, strict=True))
        return copies

    def _choose_tokens(self, data: st.DataObject) -> list[int]:
        """Draw new tokens, or some that were seen before, cut or extended."""
        seen = data.draw(st.sampled_from([[], *self.seen]))
        cut = data.draw(st.sampled_from([len(seen), len(seen), max(0, len(seen) - 1)]))
        tokens = seen[:cut] + data.draw(token_lists if not cut else st.just([]) | token_lists)
        tokens = tokens[: MAX_MODEL_LEN - 1]
        self.seen.append(tokens)
        return tokens

    def _admit(self, data: st.DataObject, tokens: list[int]) -> Admission:
        demand = Demand(
            num_tokens=len(tokens),
            max_tokens=MAX_MODEL_LEN,
            tokens=np.array(tokens, np.int32),
            num_sequences=data.draw(st.integers(1, 3)),
            headroom_blocks=data.draw(st.integers(0, 2)),
        )
        before = pickle.dumps(self.allocator)
        is_possible = self.allocator.refusal(demand) is None
        admission = self.allocator.admit(demand)
        if admission is None:
            # The look-up memo is the one thing that a refused admission may leave.
            assert self.known or not is_possible
            self.allocator.check_integrity()
            return Admission(rows=np.zeros(0, np.int64))
        assert is_possible
        rows = admission.rows.tolist()
        assert not set(rows) & set(self.known)
        self.known.update({row: [] for row in rows})
        self.known[rows[0]] = tokens
        num_cached = int(self.allocator.tables.num_tokens[rows[0]])
        assert num_cached == admission.num_cached_tokens <= len(tokens) - 1
        assert pickle.dumps(self.allocator) != before
        return admission

    def _swap_out(self, data: st.DataObject) -> BlockMoves:
        rows = self.on_device
        group = data.draw(st.lists(st.sampled_from(rows), unique=True)) if rows else []
        if not group:
            return NO_MOVES
        before = pickle.dumps(self.allocator)
        moves = self.allocator.swap_out(np.array(group, np.int64))
        if moves is None:
            assert pickle.dumps(self.allocator) == before
            return NO_MOVES
        self.swapped.append(group)
        return moves

    def _swap_in(self, group: list[int]) -> BlockMoves:
        before = pickle.dumps(self.allocator)
        moves = self.allocator.swap_in(np.array(group, np.int64))
        if moves is None:
            assert pickle.dumps(self.allocator) == before
            return NO_MOVES
        self.swapped.remove(group)
        return moves

    def _run(
        self, swap_out: BlockMoves, swap_in: BlockMoves, copies: BlockMoves, written: dict[int, int]
    ) -> None:
        tables = self.allocator.tables
        self.pool.move(swap_out=swap_out, swap_in=swap_in, copies=copies)
        last = {row: self.pool.last_value(tables.ids[row], n) for row, n in written.items()}
        slots: set[tuple[int, int]] = set()
        for row, first in written.items():
            end = int(tables.num_tokens[row])
            size = self.allocator.block_size
            new = {(int(tables.ids[row, p // size]), p % size) for p in range(first, end)}
            assert len(new) == end - first
            assert not new & slots, "two tokens of one step in one slot"
            slots |= new
            self.pool.write(tables.ids[row], first, self.known[row][first:end], last[row])
            self.tokens[row, :end] = self.known[row][:end]
        self.allocator.commit(np.array(list(written), np.int64), self.tokens)

    @precondition(lambda self: len(self.on_device) > 1)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        tables = self.allocator.tables
        empty = [row for row in self.on_device if not tables.num_blocks[row]]
        parents = [row for row in self.on_device if tables.num_tokens[row]]
        if not empty or not parents:
            return
        parent = data.draw(st.sampled_from(parents))
        children = data.draw(st.lists(st.sampled_from(empty), unique=True, min_size=1))
        num_held, size = int(tables.num_tokens[parent]), self.allocator.block_size
        num_tokens = data.draw(st.sampled_from([num_held, *range(size, num_held, size)]))
        before = self.allocator.pool.num_available
        moves = self.allocator.fork(parent, np.array(children, np.int64), num_tokens)
        assert moves is NO_MOVES
        # More than before only where a block of the parent was found to be cached already.
        assert self.allocator.pool.num_available >= before
        for child in children:
            self.known[child] = self.known[parent][:num_tokens]

    @rule(rows=st.lists(st.integers(0, MAX_ROWS - 1), max_size=3))
    def release(self, rows: list[int]) -> None:
        self.allocator.release(np.array(rows, np.int64))
        for row in rows:
            self.known.pop(row, None)
        self.swapped = [[row for row in group if row not in rows] for group in self.swapped]
        self.swapped = [group for group in self.swapped if group]

    @invariant()
    def rows_hold_their_own_tokens(self) -> None:
        self.allocator.check_integrity()
        tables = self.allocator.tables
        assert tables.live_rows().tolist() == sorted(self.known)
        for row in self.on_device:
            num_tokens = int(tables.num_tokens[row])
            wanted = values_of(self.known[row][:num_tokens])
            assert self.pool.read(tables.ids[row], num_tokens) == wanted

    @invariant()
    def usage_counts_distinct_blocks(self) -> None:
        usage = self.allocator.usage(None)
        tables, size = self.allocator.tables, self.allocator.block_size
        slots: set[tuple[int, int]] = set()
        for row in self.known:
            for column in np.flatnonzero(self.allocator.swap.resident(row)).tolist():
                used = min(size, int(tables.num_tokens[row]) - column * size)
                slots.update((int(tables.ids[row, column]), i) for i in range(used))
        assert usage.token == len(slots)
        if not self.has_cache:
            assert usage.cached_free == 0

    def teardown(self) -> None:
        if not hasattr(self, "allocator"):
            return
        self.release(list(range(MAX_ROWS)))
        self.allocator.check_integrity()
        assert self.allocator.pool.num_available == self.allocator.num_blocks
        assert not self.allocator.swap.rows


def test_random_steps_agree_with_a_record_of_tokens() -> None:
    plan = settings.get_profile(settings.get_current_profile_name())
    run_state_machine_as_test(
        PagedMachine,
        settings=settings(
            plan,
            max_examples=plan.max_examples * 6 // 10,
            stateful_step_count=25,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
