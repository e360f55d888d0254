"""Allocators without sharing against a plain record of who stored which token."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest
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

from paged.allocator.address_space import AddressSpace
from paged.allocator.base import NO_MOVES, Allocator, Demand
from paged.allocator.buddy import BuddySpace
from paged.allocator.exclusive import ExclusiveAllocator
from paged.allocator.fit import BestFitSpace, FirstFitSpace
from paged.allocator.reserved import (
    ReservationPolicy,
    ReservedAllocator,
    reserve_max,
    reserve_oracle,
    reserve_pow2,
)
from paged.allocator.virtual import VirtualAllocator
from paged.config import CacheConfig
from paged.errors import ConfigError, IntegrityError, OutOfBlocks, UnknownRow

BLOCK_SIZE = 4
MAX_MODEL_LEN = 44  # 11 blocks
MAX_ROWS = 7


def _config(num_blocks: int, blocks_per_page: int = 1) -> CacheConfig:
    return CacheConfig(
        num_blocks=num_blocks,
        block_size=BLOCK_SIZE,
        max_model_len=MAX_MODEL_LEN,
        watermark=0.05,
        blocks_per_page=blocks_per_page,
    )


def _buddy(num_blocks: int) -> BuddySpace:
    return BuddySpace(num_blocks, max_span_blocks=MAX_MODEL_LEN // BLOCK_SIZE)


def _reserved(space: AddressSpace, policy: ReservationPolicy) -> ReservedAllocator:
    config = _config(space.num_blocks)
    return ReservedAllocator(config, max_rows=MAX_ROWS, space=space, policy=policy)


MAKERS: dict[str, Callable[[int], ExclusiveAllocator]] = {
    "max": lambda n: _reserved(_buddy(n), reserve_max),
    "pow2": lambda n: _reserved(_buddy(n), reserve_pow2),
    "oracle-first-fit": lambda n: _reserved(FirstFitSpace(n), reserve_oracle),
    "oracle-best-fit": lambda n: _reserved(BestFitSpace(n), reserve_oracle),
    "virtual-1": lambda n: VirtualAllocator(_config(n), max_rows=MAX_ROWS),
    "virtual-3": lambda n: VirtualAllocator(_config(n, 3), max_rows=MAX_ROWS),
}


class AllocatorMachine(RuleBasedStateMachine):
    """Random life of rows. Every token written is told apart from every other."""

    make: ClassVar[Callable[[int], ExclusiveAllocator]]

    @initialize(num_blocks=st.integers(8, 60))
    def start(self, num_blocks: int) -> None:
        self.allocator = type(self).make(num_blocks)
        self.slots = np.zeros(num_blocks * BLOCK_SIZE, np.int64)
        self.stored: dict[int, list[int]] = {}
        self.final: dict[int, int] = {}
        self.next_token = 1

    def _slots_of(self, row: int, num_tokens: int) -> np.ndarray:
        positions = np.arange(num_tokens)
        blocks = self.allocator.tables.ids[row, positions // BLOCK_SIZE].astype(np.int64)
        return blocks * BLOCK_SIZE + positions % BLOCK_SIZE

    @rule(
        num_tokens=st.integers(1, 30),
        num_new=st.integers(0, 20),
        num_spare=st.integers(0, 6),
        num_sequences=st.integers(1, 3),
        is_known=st.booleans(),
    )
    def admit(
        self, num_tokens: int, num_new: int, num_spare: int, num_sequences: int, is_known: bool
    ) -> None:
        final = num_tokens + num_new
        demand = Demand(
            num_tokens=num_tokens,
            max_tokens=final + num_spare,
            final_tokens=final if is_known else None,
            num_sequences=num_sequences,
            headroom_blocks=num_spare,
        )
        before = pickle.dumps(self.allocator)
        admission = self.allocator.admit(demand)
        if admission is None:
            assert pickle.dumps(self.allocator) == before
            assert self.stored or self.allocator.refusal(demand) is not None
            return
        assert self.allocator.refusal(demand) is None
        rows = admission.rows.tolist()
        assert len(set(rows)) == num_sequences
        assert not set(rows) & set(self.stored)
        assert admission.num_cached_tokens == 0
        # Room for the demanded tokens is there at once, in every row.
        room = self.allocator.tables.num_blocks[admission.rows] * BLOCK_SIZE
        assert (room >= num_tokens).all()
        for row in rows:
            self.stored[row] = []
            self.final[row] = final

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def grow(self, data: st.DataObject) -> None:
        rows = data.draw(st.lists(st.sampled_from(sorted(self.stored)), unique=True))
        lengths = [data.draw(st.integers(len(self.stored[row]), MAX_MODEL_LEN)) for row in rows]
        before = pickle.dumps(self.allocator)
        try:
            moves = self.allocator.grow(np.array(rows, np.int64), np.array(lengths, np.int64))
        except OutOfBlocks:
            assert pickle.dumps(self.allocator) == before
            return
        assert moves is NO_MOVES
        for row, length in zip(rows, lengths, strict=True):
            fresh = range(self.next_token, self.next_token + length - len(self.stored[row]))
            self.next_token = fresh.stop
            self.slots[self._slots_of(row, length)[len(self.stored[row]) :]] = fresh
            self.stored[row] += fresh

    @precondition(lambda self: any(self.stored.values()))
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        parent = data.draw(st.sampled_from([row for row in self.stored if self.stored[row]]))
        empty = [row for row, tokens in self.stored.items() if not tokens]
        if not empty:
            return
        children = data.draw(st.lists(st.sampled_from(empty), unique=True, min_size=1))
        num_tokens = data.draw(st.integers(1, len(self.stored[parent])))
        before = pickle.dumps(self.allocator)
        try:
            moves = self.allocator.fork(parent, np.array(children, np.int64), num_tokens)
        except OutOfBlocks:
            assert pickle.dumps(self.allocator) == before
            return
        assert len(moves) == len(children) * math.ceil(num_tokens / BLOCK_SIZE)
        assert not set(moves.src.tolist()) & set(moves.dst.tolist())
        by_block = self.slots.reshape(-1, BLOCK_SIZE)
        by_block[moves.dst] = by_block[moves.src]
        for child in children:
            self.stored[child] = self.stored[parent][:num_tokens]

    @rule(rows=st.lists(st.integers(0, MAX_ROWS - 1)))
    def release(self, rows: list[int]) -> None:
        self.allocator.release(np.array(rows, np.int64))
        for row in rows:
            self.stored.pop(row, None)
            self.final.pop(row, None)

    @invariant()
    def rows_hold_what_was_stored(self) -> None:
        self.allocator.check_integrity()
        tables = self.allocator.tables
        assert tables.live_rows().tolist() == sorted(self.stored)
        owners: dict[int, int] = {}
        for row, tokens in self.stored.items():
            assert int(tables.num_tokens[row]) == len(tokens)
            assert self.slots[self._slots_of(row, len(tokens))].tolist() == tokens
            for block in tables.row_ids(row).tolist():
                assert owners.setdefault(block, row) == row
                assert 0 <= block < self.allocator.num_blocks

    @invariant()
    def every_slot_is_in_one_class(self) -> None:
        serving = self.allocator.usage(None)
        num_stored = sum(len(tokens) for tokens in self.stored.values())
        assert serving.token == num_stored
        assert serving.reserved == serving.internal == 0
        final = np.full(MAX_ROWS, -1, np.int64)
        for row, tokens in self.stored.items():
            final[row] = max(self.final[row], len(tokens))
        known = self.allocator.usage(final)
        assert known.token == num_stored
        assert known.granted_unused == 0
        assert known.reserved + known.internal == serving.granted_unused
        for name in ("rounding", "cached_free", "free"):
            assert getattr(known, name) == getattr(serving, name)
        room = self.allocator.tables.num_blocks * BLOCK_SIZE
        to_come = [min(final[row], room[row]) - len(self.stored[row]) for row in self.stored]
        assert known.reserved == sum(to_come)

    def teardown(self) -> None:
        self.allocator.release(np.arange(MAX_ROWS))
        self.allocator.check_integrity()
        usage = self.allocator.usage(None)
        assert usage.free + usage.cached_free == self.allocator.capacity_slots


@pytest.mark.parametrize("name", MAKERS)
def test_random_use_agrees_with_a_plain_record(name: str) -> None:
    run_state_machine_as_test(
        type("Machine", (AllocatorMachine,), {"make": staticmethod(MAKERS[name])}),
        settings=settings(
            max_examples=20,
            stateful_step_count=25,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


@pytest.fixture(params=["max", "virtual-3"])
def allocator(request: pytest.FixtureRequest) -> Allocator:
    return MAKERS[request.param](48)


def _admit(allocator: Allocator, num_tokens: int, num_sequences: int = 1) -> list[int]:
    demand = Demand(num_tokens=num_tokens, max_tokens=40, num_sequences=num_sequences)
    admission = allocator.admit(demand)
    assert admission is not None
    return admission.rows.tolist()


def test_fork_copies_whole_blocks_of_the_parent(allocator: Allocator) -> None:
    parent, *children = _admit(allocator, 9, num_sequences=3)
    allocator.grow(np.array([parent]), np.array([9]))
    moves = allocator.fork(parent, np.array(children), 9)
    tables = allocator.tables
    assert moves.src.tolist() == 2 * tables.row_ids(parent)[:3].tolist()
    assert moves.dst.tolist() == tables.ids[children, :3].ravel().tolist()
    assert tables.num_tokens[children].tolist() == [9, 9]


def test_fork_is_refused_unless_parent_has_the_tokens(allocator: Allocator) -> None:
    parent, child = _admit(allocator, 9, num_sequences=2)
    allocator.grow(np.array([parent]), np.array([8]))
    before = pickle.dumps(allocator)
    with pytest.raises(ConfigError, match="holds 8 tokens, cannot copy 9"):
        allocator.fork(parent, np.array([child]), 9)
    with pytest.raises(UnknownRow, match="row 6 holds no live sequence"):
        allocator.fork(6, np.array([child]), 1)
    assert pickle.dumps(allocator) == before


def test_fork_is_refused_unless_children_are_live_and_empty(allocator: Allocator) -> None:
    parent, child = _admit(allocator, 9, num_sequences=2)
    allocator.grow(np.array([parent, child]), np.array([9, 1]))
    before = pickle.dumps(allocator)
    with pytest.raises(ConfigError, match="hold tokens"):
        allocator.fork(parent, np.array([child]), 9)
    with pytest.raises(UnknownRow, match="not all live"):
        allocator.fork(parent, np.array([6]), 9)
    assert pickle.dumps(allocator) == before


def test_release_is_idempotent(allocator: Allocator) -> None:
    rows = _admit(allocator, 9, num_sequences=2)
    allocator.release(np.array([rows[0], rows[0]]))
    allocator.release(np.array(rows))
    allocator.release(np.array(rows))
    allocator.check_integrity()
    assert allocator.usage(None).granted_unused == 0
    assert allocator.tables.num_free_rows == MAX_ROWS


def test_nothing_is_swapped_or_cached(allocator: Allocator) -> None:
    rows = np.array(_admit(allocator, 9))
    before = pickle.dumps(allocator)
    assert allocator.swap_out(rows) is None
    assert allocator.swap_in(rows) is None
    allocator.commit(rows, np.zeros((MAX_ROWS, MAX_MODEL_LEN), np.int32))
    assert pickle.dumps(allocator) == before


def test_more_sequences_than_rows_are_refused(allocator: Allocator) -> None:
    demand = Demand(num_tokens=1, max_tokens=2, num_sequences=8)
    assert str(allocator.refusal(demand)).startswith("8 sequences exceed the 7")
    assert allocator.admit(demand) is None


@pytest.mark.parametrize(("block", "message"), [(0, "two owners"), (48, "out of range")])
def test_integrity_check_sees(allocator: Allocator, block: int, message: str) -> None:
    _, second = _admit(allocator, 4, num_sequences=2)
    allocator.tables.ids[second, 0] = block
    with pytest.raises(IntegrityError, match=message):
        allocator.check_integrity()
