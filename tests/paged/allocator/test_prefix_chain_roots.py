"""Sequences that begin alike, and those that begin like no other, in the allocator."""

from __future__ import annotations

import numpy as np
import pytest

from paged.allocator.base import Demand
from paged.allocator.paged import PagedAllocator
from paged.allocator.prefix_chain import STEPS_PER_PASS
from paged.config import CacheConfig

SIZE = 4


class Rows:
    """Rows of a paged allocator with a prefix cache, written token by token."""

    def __init__(self) -> None:
        config = CacheConfig(
            num_blocks=32,
            num_host_blocks=8,
            block_size=SIZE,
            max_model_len=64,
            enable_prefix_caching=True,
        )
        self.allocator = PagedAllocator(config, max_rows=4)
        self.tokens = np.zeros((4, 64), np.int32)

    def admit(self, prompt: list[int]) -> int:
        """Admit and compute a prompt; returns its row."""
        row = self.admit_only(prompt)
        self.compute({row: len(prompt)})
        return row

    def admit_only(self, prompt: list[int]) -> int:
        """Admit a prompt that the next step computes; returns its row."""
        admission = self.allocator.admit(self.demand(prompt))
        assert admission is not None
        row = int(admission.rows[0])
        self.tokens[row, : len(prompt)] = prompt
        return row

    def demand(self, prompt: list[int]) -> Demand:
        tokens = np.array(prompt, np.int32)
        keys = self.allocator.prefix_keys(tokens)
        return Demand(num_tokens=len(prompt), max_tokens=64, tokens=tokens, prefix_keys=keys)

    def compute(self, lengths: dict[int, int]) -> None:
        """Run a step after which rows have so many tokens."""
        rows = np.array(list(lengths), np.int64)
        self.allocator.grow(rows, np.array(list(lengths.values()), np.int64))
        self.allocator.commit(rows, self.tokens)
        self.allocator.check_integrity()

    def decode(self, rows: list[int], first: int, last: int) -> None:
        """Give rows equal tokens, one in each step, until they have `last`; then wait a pass."""
        for end in range(first + 1, last + 1):
            self.tokens[rows, end - 1] = end
            self.compute(dict.fromkeys(rows, end))
        for _ in range(STEPS_PER_PASS):
            self.compute(dict.fromkeys(rows, last))

    def ids(self, row: int) -> list[int]:
        return self.allocator.tables.row_ids(row).tolist()


@pytest.fixture
def it() -> Rows:
    return Rows()


def test_rows_that_share_a_prompt_share_what_they_decode(it: Rows) -> None:
    first = it.admit([1, 2, 3, 4, 5])
    it.decode([first], 5, 8)
    second = it.admit([1, 2, 3, 4, 5])
    it.decode([second], 5, 8)
    it.decode([first, second], 8, 16)
    assert it.ids(second)[:4] == it.ids(first)[:4]
    assert it.allocator.pool.num_held == 4


def test_rows_that_fork_share_what_they_decode(it: Rows) -> None:
    parent = it.admit([1, 2, 3, 4, 5])
    it.decode([parent], 5, 8)
    child = int(it.allocator.tables.take_rows(1)[0])
    it.allocator.fork(parent, np.array([child]), 8)
    it.tokens[child] = it.tokens[parent]
    it.decode([parent, child], 8, 16)
    assert it.ids(child)[:4] == it.ids(parent)[:4]


def test_first_blocks_that_are_decoded_alike_are_shared(it: Rows) -> None:
    first, second = it.admit([1, 2]), it.admit([1, 2])
    it.decode([first], 2, 8)
    it.decode([second], 2, 12)
    assert it.ids(second)[:2] == it.ids(first)


def test_a_row_that_only_begins_alike_goes_its_own_way(it: Rows) -> None:
    first = it.admit([1, 2, 3, 4, 9, 9, 9, 9])
    it.decode([first], 8, 12)
    second = it.admit([1, 2, 3, 4, 8, 8, 8, 8])
    it.decode([second], 8, 12)
    assert it.ids(second)[0] == it.ids(first)[0]
    assert not set(it.ids(second)[1:]) & set(it.ids(first)[1:])
    third = it.admit([*it.tokens[first, :12].tolist(), 7])
    assert it.ids(third)[:3] == it.ids(first)


@pytest.mark.parametrize("num_tokens", [7, 9, 13])
def test_all_that_a_row_has_filled_is_found_when_it_is_released(it: Rows, num_tokens: int) -> None:
    prompt = list(range(num_tokens))
    row = it.admit(prompt)
    blocks = it.ids(row)[: num_tokens // SIZE]
    it.allocator.release(np.array([row]))
    # Its row goes to another before what it has filled is seen.
    it.tokens[row] = 99
    it.allocator.check_integrity()
    assert it.ids(it.admit([*prompt, 1]))[: len(blocks)] == blocks


def test_a_row_alone_registers_nothing_before_somebody_looks_for_it(it: Rows) -> None:
    row = it.admit([1, 2, 3, 4, 5])
    it.decode([row], 5, 12)
    cache = it.allocator._cache
    assert cache is not None
    assert len(cache) == 0
    it.allocator.grow(np.array([row]), np.array([13]))
    other = it.admit_only([1, 2, 3, 4, 5, 6, 7, 8, 0])
    assert it.ids(other)[:2] == it.ids(row)[:2]
    assert len(cache) == 3


def test_a_look_up_finds_of_a_row_alone_what_a_pass_has_seen(it: Rows) -> None:
    row = it.admit([1, 2, 3, 4, 5])
    num_seen = 5 + STEPS_PER_PASS - 1
    for end in range(6, num_seen + SIZE + 1):
        it.tokens[row, end - 1] = end
        it.compute({row: end})
    found = it.allocator.admit(it.demand([*it.tokens[row, : num_seen + SIZE].tolist(), 0]))
    assert found is not None
    assert found.num_cached_tokens == num_seen


@pytest.mark.parametrize("num_rows", [2, 3])
def test_prompts_that_begin_alike_in_one_step_share_all_the_same(it: Rows, num_rows: int) -> None:
    rows = [it.admit_only([1, 2, 3, 4, 5]) for _ in range(num_rows)]
    it.compute(dict.fromkeys(rows, 5))
    assert len({it.ids(row)[0] for row in rows}) == 1
    it.decode(rows, 5, 12)
    assert len({tuple(it.ids(row)) for row in rows}) == 1


def test_a_first_block_that_is_decoded_like_the_prompt_of_a_row_alone_is_shared(it: Rows) -> None:
    alone = it.admit([1, 2, 3, 4, 5])
    short = it.admit([1, 2])
    it.decode([short], 2, 6)
    assert it.ids(short)[0] == it.ids(alone)[0]


def test_what_is_decoded_like_a_sequence_that_ended_is_shared_behind_its_first_block(
    it: Rows,
) -> None:
    ended = it.admit(list(range(1, 14)))
    blocks = it.ids(ended)
    it.allocator.release(np.array([ended]))
    short = it.admit([1, 2])
    it.decode([short], 2, 12)
    assert it.ids(short) == blocks[: 12 // SIZE]


def test_a_row_alone_that_is_swapped_out_leaves_its_first_block_to_others(it: Rows) -> None:
    row = it.admit([1, 2, 3, 4, 5])
    assert it.allocator.swap_out(np.array([row])) is not None
    it.decode([it.admit([1, 2, 3, 4, 5])], 5, 8)
    it.allocator.release(np.array([row]))
    found = it.allocator.admit(it.demand([1, 2, 3, 4, 9]))
    assert found is not None
    assert found.num_cached_tokens == SIZE


def test_a_step_that_fails_leaves_what_rows_alone_had_before(it: Rows) -> None:
    prompt = list(range(20))
    row = it.admit(prompt)
    it.allocator.grow(np.array([row]), np.array([24]))
    it.allocator.abandon()
    it.allocator.release(np.array([row]))
    it.allocator.check_integrity()
    again = it.allocator.admit(it.demand([*range(24), 0]))
    assert again is not None
    assert again.num_cached_tokens == 20


def test_a_hit_goes_on_from_its_last_block_though_the_first_is_evicted(it: Rows) -> None:
    row = it.admit(list(range(9)))
    chains, cache = it.allocator._chains, it.allocator._cache
    assert chains is not None
    assert cache is not None
    chains.open(row)
    cache.forget(np.array(it.ids(row)[:1]))
    # What a window has left is evicted like any other block that nobody holds.
    chains.admit(row, 2, 9, cache.keys_of(np.arange(9, dtype=np.int32)))
    it.tokens[row, 9:12] = 7
    it.allocator.grow(np.array([row]), np.array([12]))
    it.allocator.commit(np.array([row]), it.tokens)
    assert cache.is_cached(np.array(it.ids(row))).tolist() == [False, True, True]


def test_a_row_alone_may_be_registered_as_others_are(it: Rows) -> None:
    row = it.admit(list(range(9)))
    chains, cache = it.allocator._chains, it.allocator._cache
    assert chains is not None
    assert cache is not None
    chains.register(np.array([row]), it.tokens)
    assert len(cache) == 9 // SIZE


def test_a_first_block_that_settles_is_not_cached_beside_that_of_a_row_alone(it: Rows) -> None:
    alone, short = it.admit([1, 2, 3, 4, 5]), it.admit([1, 2])
    it.tokens[short, 2:4] = 3, 4
    it.compute({short: 4})
    for row in (short, alone):
        it.allocator.release(np.array([row]))
        it.allocator.check_integrity()
    assert it.allocator.pool.num_evictable == 1


@pytest.mark.parametrize("prompt", [[7, 8], list(range(50, 60))])
def test_what_the_last_user_of_a_row_computed_counts_for_nothing(
    it: Rows, prompt: list[int]
) -> None:
    row = it.admit([1, 2, 3, 4, 5])
    it.decode([row], 5, 16)
    it.allocator.release(np.array([row]))
    assert it.admit_only(prompt) == row
    it.allocator.grow(np.array([row]), np.array([len(prompt)]))
    again = it.allocator.admit(it.demand(prompt))
    assert again is not None
    assert again.num_cached_tokens == 0
    it.allocator.release(np.array([row]))
    it.allocator.check_integrity()
    assert it.allocator.pool.num_evictable == 16 // SIZE
