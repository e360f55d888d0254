"""Which blocks a window leaves, and when they are given up."""

from __future__ import annotations

import numpy as np
import pytest

from paged.allocator.base import Demand
from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.paged import PagedAllocator
from paged.allocator.window import SlidingWindow, most_window_blocks
from paged.config import CacheConfig, GroupConfig

SIZE = 4


class Rows:
    """Two rows that hold blocks 0, 1, ... of a pool one after the other."""

    def __init__(self, *num_tokens: int, window: int, max_step_tokens: int | None = None) -> None:
        self.tables = BlockTables(max_rows=len(num_tokens), max_model_len=64, block_size=SIZE)
        self.pool = BlockPool(40)
        self.window = SlidingWindow(
            self.tables, self.pool, window=window, max_step_tokens=max_step_tokens
        )
        self.rows = self.tables.take_rows(len(num_tokens))
        for row, count in enumerate(num_tokens):
            num_blocks = -(-count // SIZE)
            self.tables.ids[row, :num_blocks] = self.pool.take(num_blocks)
            self.tables.num_blocks[row] = num_blocks
            self.tables.num_tokens[row] = count

    def share(self) -> None:
        """Let row 1 hold the blocks of row 0."""
        self.pool.drop(self.tables.row_ids(1).astype(np.int64))
        self.tables.ids[1] = self.tables.ids[0]
        self.pool.retain(self.tables.row_ids(0).astype(np.int64))

    def slide(self) -> list[int]:
        """Move all windows on, and return the rows that have given blocks up."""
        moved = self.window.moved(self.rows)
        if len(moved):
            self.window.slide(moved)
        return moved.tolist()


@pytest.mark.parametrize("window", [1, 3, 4, 5, 8, 9, 13])
@pytest.mark.parametrize("num_tokens", range(1, 40))
def test_no_block_that_is_read_is_given_up_and_no_other_is_kept(
    window: int, num_tokens: int
) -> None:
    it = Rows(num_tokens, window=window)
    it.slide()
    first = int(it.tables.first_block[0])
    # The token after num_tokens others reads itself and window - 1 before it.
    oldest_read = num_tokens - (window - 1)
    last_full_block = num_tokens // SIZE - 1
    assert first * SIZE <= max(0, oldest_read)
    assert first <= max(0, last_full_block)
    assert (first + 1) * SIZE > oldest_read or first == last_full_block
    assert it.pool.num_held == it.tables.num_blocks[0] - first
    assert it.window.first_block(num_tokens) == first
    it.tables.check_integrity()


@pytest.mark.parametrize("window", range(1, 20))
def test_a_sequence_holds_at_most_what_is_said(window: int) -> None:
    first_block = Rows(1, window=window).window.first_block
    held = [-(-(num_tokens + 5) // SIZE) - first_block(num_tokens) for num_tokens in range(1, 40)]
    assert max(held) == most_window_blocks(window, block_size=SIZE, num_step_tokens=5)


@pytest.mark.parametrize("window", range(1, 30))
def test_between_steps_it_holds_the_blocks_of_a_window_and_one(window: int) -> None:
    most = most_window_blocks(window, block_size=SIZE, num_step_tokens=0)
    assert most <= -(-window // SIZE) + 1


def test_rows_give_up_several_blocks_or_none() -> None:
    it = Rows(4, 31, 16, window=8)
    assert it.slide() == [1, 2]
    assert it.tables.first_block.tolist() == [0, 6, 2]
    assert it.tables.row_ids(1).tolist() == [7, 8]
    assert it.tables.row_ids(2).tolist() == [11, 12]
    # Only the blocks of rows 1 and 2 are free again.
    assert sorted(np.flatnonzero(it.pool.references == 0)[:8].tolist()) == [*range(1, 7), 9, 10]
    assert it.slide() == []


def test_a_shared_block_is_free_when_the_last_window_has_left_it() -> None:
    it = Rows(20, 20, window=8)
    it.share()
    it.window.slide(it.rows[:1])
    assert it.pool.num_held == 5
    it.window.slide(it.rows[1:])
    assert it.pool.num_held == 2


def test_rows_that_share_may_move_at_once() -> None:
    it = Rows(20, 20, window=8)
    it.share()
    assert it.slide() == [0, 1]
    assert it.pool.num_held == 2
    it.pool.check_integrity()


def test_rows_that_share_leave_the_last_block_first_to_be_evicted() -> None:
    config = CacheConfig(
        num_blocks=16,
        block_size=SIZE,
        max_model_len=64,
        enable_prefix_caching=True,
        groups=(GroupConfig(num_blocks=16, window=8),),
    )
    allocator = PagedAllocator(config, max_rows=2)
    tokens = np.arange(2 * 64, dtype=np.int32).reshape(2, 64)
    admission = allocator.admit(
        Demand(num_tokens=8, max_tokens=64, tokens=tokens[0, :8], num_sequences=2)
    )
    assert admission is not None
    lead, child = admission.rows[:1], admission.rows[1:]
    allocator.grow(lead, np.array([8]))
    allocator.commit(lead, tokens)
    tokens[child, :8] = tokens[lead, :8]
    allocator.fork(int(lead[0]), child, 8)
    allocator.grow(admission.rows, np.array([16, 16]))
    allocator.commit(admission.rows, tokens)
    assert allocator.tables.first_block.tolist() == [2, 2]
    assert allocator.usage(None).cached_free == 2 * SIZE
    allocator.pool.check_leaves_first()


def test_a_step_without_limit_may_fill_the_longest_sequence() -> None:
    assert Rows(1, window=8).window.most_blocks == 16
    assert Rows(1, window=8, max_step_tokens=5).window.most_blocks == 4
    assert Rows(1, window=8, max_step_tokens=1000).window.most_blocks == 16
