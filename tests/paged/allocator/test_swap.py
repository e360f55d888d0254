"""Swap space: each distinct block moves once, and sharing comes back as it was."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from paged.allocator.base import NO_MOVES
from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.prefix_cache import ROOT_SERIAL, PrefixCache
from paged.allocator.swap import SwapSpace
from paged.errors import IntegrityError, OutOfBlocks

NUM_BLOCKS = 8
SIZE = 2


class Fixture:
    """Rows 0 and 1 share block 0 and own one block each; row 2 shares block 1 of row 1."""

    def __init__(self, num_host_blocks: int = 8) -> None:
        self.tables = BlockTables(max_rows=4, max_model_len=8, block_size=SIZE)
        self.cache = PrefixCache(num_blocks=NUM_BLOCKS, block_size=SIZE, max_blocks_per_row=4)
        self.pool = BlockPool(NUM_BLOCKS, self.cache)
        self.swap = SwapSpace(self.tables, self.pool, self.cache, num_host_blocks)
        self.tables.take_rows(4)
        self.pool.take(5)
        self.hold(0, 0, 2)
        self.hold(1, 0, 1, 3)
        self.hold(2, 1, 4)
        self.pool.references[:5] = [2, 2, 1, 1, 1]

    def hold(self, row: int, *blocks: int) -> None:
        self.tables.ids[row, : len(blocks)] = blocks
        self.tables.num_blocks[row] = len(blocks)

    def ids(self, row: int) -> list[int]:
        return self.tables.row_ids(row).tolist()


def _rows(*rows: int) -> np.ndarray:
    return np.array(rows, np.int64)


def test_blocks_that_only_these_rows_hold_move_once() -> None:
    it = Fixture()
    moves = it.swap.move_out(_rows(0, 1))
    assert moves is not None
    # Block 0 is shared within the group and moves; block 1 is held by row 2 and stays.
    assert (moves.src.tolist(), moves.dst.tolist()) == ([0, 2, 3], [0, 1, 2])
    assert it.pool.references[:5].tolist() == [0, 2, 0, 0, 1]
    assert it.pool.num_free == NUM_BLOCKS - 2
    assert it.swap.rows == [0, 1]
    assert [it.swap.is_swapped(row) for row in range(3)] == [True, True, False]
    assert it.swap.resident(1).tolist() == [False, True, False]
    assert it.swap.resident(2).tolist() == [True, True]
    it.swap.check_integrity()


def test_sharing_is_rebuilt_on_return() -> None:
    it = Fixture()
    it.swap.move_out(_rows(0, 1))
    it.pool.take(1)
    assert it.swap.num_host_blocks_of(_rows(0, 1)) == 3
    moves = it.swap.move_in(_rows(0, 1))
    assert moves.src.tolist() == [0, 1, 2]
    shared, own, other = moves.dst.tolist()
    assert it.ids(0) == [shared, own]
    assert it.ids(1) == [shared, 1, other]
    assert it.pool.references[moves.dst].tolist() == [2, 1, 1]
    assert it.swap.rows == []
    it.swap.check_integrity()
    it.pool.check_integrity()


def test_host_blocks_are_used_again() -> None:
    it = Fixture(num_host_blocks=3)
    for _ in range(3):
        assert it.swap.move_out(_rows(0, 1)) is not None
        it.swap.move_in(_rows(0, 1))
    it.swap.check_integrity()


def test_a_full_host_pool_moves_nothing() -> None:
    it = Fixture(num_host_blocks=2)
    before = pickle.dumps((it.tables, it.pool, it.swap))
    assert it.swap.move_out(_rows(0, 1)) is None
    assert pickle.dumps((it.tables, it.pool, it.swap)) == before


def test_too_few_device_blocks_change_nothing() -> None:
    it = Fixture()
    it.swap.move_out(_rows(0, 1))
    it.pool.take(4)
    before = pickle.dumps((it.tables, it.pool, it.swap))
    with pytest.raises(OutOfBlocks, match="needed 3 blocks, 2 available"):
        it.swap.move_in(_rows(0, 1))
    assert pickle.dumps((it.tables, it.pool, it.swap)) == before


def test_a_row_with_nothing_of_its_own_moves_nothing() -> None:
    it = Fixture(num_host_blocks=0)
    it.hold(3, 1)
    it.pool.references[1] = 3
    assert it.swap.move_out(_rows(3)) is NO_MOVES
    assert it.swap.resident(3).tolist() == [True]
    assert it.swap.move_in(_rows(3)) is NO_MOVES


def test_moved_blocks_are_no_longer_hittable() -> None:
    it = Fixture()
    tokens = np.array([1, 2, 3, 4], np.int32)
    keys = it.cache.keys_of(tokens)
    serial = it.cache.next_serial
    it.cache.insert_new(keys, _rows(1, 3), it.cache.split(tokens), _rows(ROOT_SERIAL, serial))
    it.swap.move_out(_rows(1))
    assert it.cache.match(tokens, keys).tolist() == [1]
    it.pool.check_integrity()


def test_what_a_swapped_row_has_on_the_host_can_be_given_up() -> None:
    it = Fixture(num_host_blocks=3)
    it.swap.move_out(_rows(0, 1))
    it.swap.forget(0)
    assert it.swap.rows == [1]
    assert it.swap.num_host_blocks_of(_rows(1)) == 2
    it.swap.forget(1)
    it.swap.check_integrity()


def test_integrity_check_sees_a_swapped_row_that_is_gone() -> None:
    it = Fixture()
    it.swap.move_out(_rows(2))
    it.tables.give_rows([2])
    with pytest.raises(IntegrityError, match="row 2 is swapped out and not live"):
        it.swap.check_integrity()


def test_integrity_check_sees_a_lost_host_block() -> None:
    it = Fixture()
    it.swap.move_out(_rows(2))
    it.swap._swapped[2].host_blocks[:] = 5
    with pytest.raises(IntegrityError, match="not held exactly by the swapped rows"):
        it.swap.check_integrity()


def test_blocks_that_a_window_has_left_stay_where_they_are() -> None:
    it = Fixture()
    it.pool.drop(it.tables.row_ids(2)[:1].astype(np.int64))
    it.tables.first_block[2] = 1
    ids = it.tables.ids[2].tolist()
    assert it.swap.can_move_out(_rows(2))
    moves = it.swap.move_out(_rows(2))
    assert moves is not None
    assert moves.src.tolist() == ids[1:2]
    assert not it.swap.resident(2).any()
    it.tables.ids[2, 1] = 99
    back = it.swap.move_in(_rows(2))
    assert it.tables.row_ids(2).tolist() == back.dst.tolist()
    assert it.tables.ids[2, 0] == ids[0]
    assert it.swap.resident(2).tolist() == [False, True]
