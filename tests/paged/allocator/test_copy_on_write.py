"""Copy-on-write: who copies, who keeps the block, and who is never looked at."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from paged.allocator.base import NO_MOVES
from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.copy_on_write import CopyOnWrite
from paged.errors import OutOfBlocks

SIZE = 4


class Fixture:
    """Three rows that hold one block of three tokens together."""

    def __init__(self, num_blocks: int = 8, num_tokens: int = 3) -> None:
        self.tables = BlockTables(max_rows=3, max_model_len=8, block_size=SIZE)
        self.pool = BlockPool(num_blocks)
        self.copy_on_write = CopyOnWrite(self.tables, self.pool)
        rows = self.tables.take_rows(3)
        self.tables.ids[:, 0] = self.pool.take(1)
        self.pool.retain(np.array([0]), 2)
        self.tables.num_blocks[:] = 1
        self.tables.num_tokens[:] = num_tokens
        self.copy_on_write.watch(rows)

    def tails(self, *rows: int) -> list[tuple[int, int]]:
        return self.copy_on_write.shared_tails(np.array(rows, np.int64))


def test_all_growing_holders_but_the_last_copy() -> None:
    assert Fixture().tails(0, 1, 2) == [(0, 0), (1, 0)]


def test_a_holder_that_does_not_grow_keeps_the_block() -> None:
    assert Fixture().tails(0, 2) == [(0, 0), (2, 0)]


def test_a_full_tail_is_never_written_again() -> None:
    assert Fixture(num_tokens=SIZE).tails(0, 1, 2) == []


def test_rows_that_share_nothing_are_not_looked_at() -> None:
    it = Fixture()
    assert not it.copy_on_write.is_idle
    it.copy_on_write.forget(np.array([1, 2]))
    assert it.tails(1, 2) == []
    it.copy_on_write.forget(np.array([0]))
    assert it.tails(0, 1, 2) == []
    assert it.copy_on_write.is_idle


def test_copies_go_to_fresh_blocks_and_leave_one_holder() -> None:
    it = Fixture()
    moves = it.copy_on_write.copy(it.tails(0, 1, 2))
    assert (moves.src.tolist(), moves.dst.tolist()) == ([0, 0], [1, 2])
    assert it.tables.ids[:, 0].tolist() == [1, 2, 0]
    assert it.pool.references[:3].tolist() == [1, 1, 1]


def test_no_tails_need_no_copies() -> None:
    assert Fixture().copy_on_write.copy([]) is NO_MOVES


def test_too_few_blocks_change_nothing() -> None:
    it = Fixture(num_blocks=2)
    tails = it.tails(0, 1, 2)
    before = pickle.dumps((it.tables, it.pool))
    with pytest.raises(OutOfBlocks):
        it.copy_on_write.copy(tails)
    assert pickle.dumps((it.tables, it.pool)) == before
