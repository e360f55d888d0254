"""The paged allocator against a record of tokens and a pool that holds real contents."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from paged.allocator.base import NO_MOVES, Admission, BlockMoves, Demand, concat_moves
from paged.allocator.paged import PagedAllocator
from paged.config import EVICTIONS, CacheConfig
from tests.helpers.allocator_machine import AllocatorMachine
from tests.helpers.toy_model import ToyPool, values_of

MAX_MODEL_LEN = 20
MAX_ROWS = 5

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


class PagedMachine(AllocatorMachine[PagedAllocator]):
    """Random steps, each of which runs on a pool of real contents."""

    max_model_len, max_rows = MAX_MODEL_LEN, MAX_ROWS
    max_prompt_tokens, max_new_tokens = 12, 4

    @initialize(config=configs, keys_collide=st.booleans())
    def start(self, config: CacheConfig, keys_collide: bool) -> None:
        self.has_cache = config.enable_prefix_caching
        self.begin(PagedAllocator(config, max_rows=MAX_ROWS))
        if keys_collide and self.allocator._cache is not None:
            # All blocks at one place of a sequence have one key: only the check of the
            # contents tells them apart.
            self.allocator._cache._within[:] = 0
        self.pool = ToyPool(
            num_blocks=config.num_blocks,
            block_size=config.block_size,
            num_host_blocks=config.num_host_blocks,
        )

    @rule(
        data=st.data(),
        num_out=st.integers(0, 2),
        num_new=st.integers(0, 2),
        is_returning=st.booleans(),
    )
    def step(self, data: st.DataObject, num_out: int, num_new: int, is_returning: bool) -> None:
        swap_out = [self.swap_out(data) for _ in range(num_out)]
        running = self.on_device
        written: dict[int, int] = {}
        copies = [self.grow(data, running, written)]
        swap_in: list[BlockMoves] = []
        if is_returning and self.swapped:
            group = data.draw(st.sampled_from(self.swapped))
            swap_in.append(self.swap_in(group))
            if group not in self.swapped:
                copies.append(self.grow(data, group, written))
        else:
            rows: list[int] = []
            for _ in range(num_new):
                admission = self._admit(data, self.choose_tokens(data))
                copies.append(admission.copies)
                rows += [row for row in admission.rows.tolist() if self.known[row]]
            copies.append(self.grow(data, rows, written))
        self._run(concat_moves(swap_out), concat_moves(swap_in), concat_moves(copies), written)

    def _admit(self, data: st.DataObject, tokens: list[int]) -> Admission:
        prompt = np.array(tokens, np.int32)
        demand = Demand(
            num_tokens=len(tokens),
            max_tokens=MAX_MODEL_LEN,
            tokens=prompt,
            prefix_keys=data.draw(st.sampled_from([None, self.allocator.prefix_keys(prompt)])),
            num_sequences=data.draw(st.integers(1, 3)),
            headroom_blocks=data.draw(st.integers(0, 2)),
        )
        # The first to ask for a prefix completes the index.
        self.allocator.intake.match(demand)
        before = pickle.dumps(self.allocator)
        is_possible = self.allocator.refusal(demand) is None
        admission = self.allocator.admit(demand)
        if admission is None:
            assert self.known or not is_possible
            assert pickle.dumps(self.allocator) == before
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

    def _run(
        self, swap_out: BlockMoves, swap_in: BlockMoves, copies: BlockMoves, written: dict[int, int]
    ) -> None:
        self.pool.move(swap_out=swap_out, swap_in=swap_in, copies=copies)
        self.compute(self.allocator.tables, self.pool, written)
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
    def release_some(self, rows: list[int]) -> None:
        self.release(rows)

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
