"""KV groups and windows against a record of tokens and pools that hold real contents."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from paged.allocator.base import Admission, BlockMoves, Demand, concat_moves
from paged.allocator.grouped import GroupedAllocator
from paged.allocator.window import most_window_blocks
from paged.config import EVICTIONS, CacheConfig, GroupConfig
from tests.helpers.allocator_machine import AllocatorMachine
from tests.helpers.toy_model import ToyPool, values_of

MAX_MODEL_LEN = 40
MAX_ROWS = 4
POISON_ID = 1 << 30

groups = st.builds(
    GroupConfig,
    num_blocks=st.integers(4, 30),
    window=st.integers(1, 6) | st.integers(1, 12) | st.none(),
    num_host_blocks=st.integers(0, 8),
)


class GroupedMachine(AllocatorMachine[GroupedAllocator]):
    """Random steps, each of them in all groups at once.

    Ids of blocks that a window has left are overwritten after every step, so whoever reads
    one is found out.
    """

    max_model_len, max_rows = MAX_MODEL_LEN, MAX_ROWS
    max_prompt_tokens, max_new_tokens = 24, 6

    @initialize(
        configs=st.lists(groups, min_size=1, max_size=3),
        block_size=st.integers(1, 4),
        max_step_tokens=st.none() | st.integers(1, 8),
        has_cache=st.sampled_from([True, True, False]),
        eviction=st.sampled_from(EVICTIONS),
        watermark=st.sampled_from([0.0, 0.2]),
    )
    def start(
        self,
        *,
        configs: list[GroupConfig],
        block_size: int,
        max_step_tokens: int | None,
        has_cache: bool,
        eviction: str,
        watermark: float,
    ) -> None:
        self.size, self.max_step_tokens = block_size, max_step_tokens
        self.windows = [config.window for config in configs]
        config = CacheConfig(
            num_blocks=sum(config.num_blocks for config in configs),
            num_host_blocks=sum(config.num_host_blocks for config in configs),
            block_size=block_size,
            max_model_len=MAX_MODEL_LEN,
            watermark=watermark,
            enable_prefix_caching=has_cache,
            eviction=eviction,
            groups=tuple(configs),
            max_step_tokens=max_step_tokens,
        )
        self.begin(GroupedAllocator(config, max_rows=MAX_ROWS))
        self.pools = [
            ToyPool(
                num_blocks=config.num_blocks,
                block_size=block_size,
                num_host_blocks=config.num_host_blocks,
            )
            for config in configs
        ]

    @rule(data=st.data(), num_out=st.integers(0, 1), num_new=st.integers(0, 2))
    def step(self, data: st.DataObject, num_out: int, num_new: int) -> None:
        swap_out = [self.swap_out(data) for _ in range(num_out)]
        written: dict[int, int] = {}
        copies = [self.grow(data, self.on_device, written, self.max_step_tokens)]
        swap_in: list[BlockMoves] = []
        if self.swapped and data.draw(st.booleans()):
            swap_in.append(self.swap_in(data.draw(st.sampled_from(self.swapped))))
        else:
            rows: list[int] = []
            for _ in range(num_new):
                admission = self._admit(data, self.choose_tokens(data))
                copies.append(admission.copies)
                rows += [row for row in admission.rows.tolist() if self.known[row]]
            copies.append(self.grow(data, rows, written, self.max_step_tokens))
        moves = [concat_moves(part) for part in (swap_out, swap_in, copies)]
        self._run(moves, written, fails=data.draw(st.integers(0, 15)) == 15)

    def _admit(self, data: st.DataObject, tokens: list[int]) -> Admission:
        prompt = np.array(tokens, np.int32)
        demand = Demand(
            num_tokens=len(tokens),
            max_tokens=MAX_MODEL_LEN,
            tokens=prompt,
            prefix_keys=data.draw(st.sampled_from([None, self.allocator.prefix_keys(prompt)])),
            num_sequences=data.draw(st.integers(1, 3)),
        )
        # The first to ask for a prefix completes the index.
        for group in self.allocator.groups:
            group.intake.match(demand)
        before = pickle.dumps(self.allocator)
        is_possible = self.allocator.refusal(demand) is None
        admission = self.allocator.admit(demand)
        if admission is None:
            assert self.known or not is_possible
            assert pickle.dumps(self.allocator) == before
            return Admission(rows=np.zeros(0, np.int64))
        assert is_possible
        rows = admission.rows.tolist()
        self.known.update({row: [] for row in rows})
        self.known[rows[0]] = tokens
        assert admission.num_cached_tokens <= len(tokens) - 1
        if admission.num_cached_tokens:
            event("prefix hit")
        if any(tables.first_block[rows[0]] for tables in self.allocator.group_tables):
            event("prefix hit behind a window")
        return admission

    def _run(self, moves: list[BlockMoves], written: dict[int, int], *, fails: bool) -> None:
        for number, pool in enumerate(self.pools):
            swap_out, swap_in, copies = (part.of(number) for part in moves)
            pool.move(swap_out=swap_out, swap_in=swap_in, copies=copies)
            self.compute(self.allocator.group_tables[number], pool, written)
        self._hold_no_more_than(0 if self.max_step_tokens is None else self.max_step_tokens)
        if fails:
            self.allocator.abandon()
            self.release(list(written))
            return
        self.allocator.commit(np.array(list(written), np.int64), self.tokens)
        for tables in self.allocator.group_tables:
            for row in self.known:
                tables.ids[row, : tables.first_block[row]] = POISON_ID

    def _hold_no_more_than(self, num_step_tokens: int) -> None:
        if self.max_step_tokens is None:
            return
        for window, tables in zip(self.windows, self.allocator.group_tables, strict=True):
            if window is not None:
                most = most_window_blocks(
                    window, block_size=self.size, num_step_tokens=num_step_tokens
                )
                assert int((tables.num_blocks - tables.first_block).max()) <= most

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        tables = self.allocator.tables
        empty = [row for row in self.on_device if not tables.num_blocks[row]]
        parents = [row for row in self.on_device if tables.num_tokens[row]]
        if not empty or not parents:
            return
        parent = data.draw(st.sampled_from(parents))
        children = data.draw(st.lists(st.sampled_from(empty), unique=True, min_size=1))
        num_tokens = int(tables.num_tokens[parent])
        moves = self.allocator.fork(parent, np.array(children, np.int64), num_tokens)
        assert not len(moves)
        for child in children:
            self.known[child] = self.known[parent][:num_tokens]

    @rule(rows=st.lists(st.integers(0, MAX_ROWS - 1), max_size=3))
    def release_some(self, rows: list[int]) -> None:
        self.release(rows)

    @invariant()
    def rows_hold_what_the_next_token_reads(self) -> None:
        self.allocator.check_integrity()
        assert self.allocator.tables.live_rows().tolist() == sorted(self.known)
        groups = zip(self.windows, self.allocator.group_tables, self.pools, strict=True)
        for window, tables, pool in groups:
            for row in self.on_device:
                end = int(tables.num_tokens[row])
                first = 0 if window is None else max(0, end - window + 1)
                wanted = values_of(self.known[row][:end])[first:]
                ids = tables.ids[row].tolist()
                places = [(ids[p // self.size], p % self.size) for p in range(first, end)]
                assert [int(pool.device[place]) for place in places] == wanted

    @invariant()
    def slot_classes_are_those_of_the_groups_in_sum(self) -> None:
        each = self.allocator.group_usage(None)
        total = self.allocator.usage(None)
        assert total.capacity == self.allocator.capacity_slots
        assert total.token == sum(usage.token for usage in each)
        for tables, usage in zip(self.allocator.group_tables, each, strict=True):
            if not self.swapped and tables.num_tokens.max(initial=0) == 0:
                assert usage.token == 0

    def teardown(self) -> None:
        if not hasattr(self, "allocator"):
            return
        self.release(list(range(MAX_ROWS)))
        self.allocator.check_integrity()
        for group in self.allocator.groups:
            assert group.pool.num_available == group.num_blocks
            assert not group.swap.rows


def test_random_steps_agree_with_a_record_of_tokens() -> None:
    plan = settings.get_profile(settings.get_current_profile_name())
    run_state_machine_as_test(
        GroupedMachine,
        settings=settings(
            plan,
            max_examples=plan.max_examples * 6 // 10,
            stateful_step_count=25,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
