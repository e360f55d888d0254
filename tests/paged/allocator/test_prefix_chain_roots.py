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
            num_blocks=32, block_size=SIZE, max_model_len=64, enable_prefix_caching=True
        )
        self.allocator = PagedAllocator(config, max_rows=4)
        self.tokens = np.zeros((4, 64), np.int32)

    def admit(self, prompt: list[int]) -> int:
        """Admit and compute a prompt; returns its row."""
        tokens = np.array(prompt, np.int32)
        keys = self.allocator.prefix_keys(tokens)
        demand = Demand(num_tokens=len(prompt), max_tokens=64, tokens=tokens, prefix_keys=keys)
        admission = self.allocator.admit(demand)
        assert admission is not None
        row = int(admission.rows[0])
        self.tokens[row, : len(prompt)] = tokens
        self.compute({row: len(prompt)})
        return row

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
    it.allocator.check_integrity()
    assert it.ids(it.admit([*prompt, 1]))[: len(blocks)] == blocks
