"""Block tables: rows are handed out once, keep their index, and come back empty."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from paged.allocator.block_table import BlockTables
from paged.errors import IntegrityError, OutOfBlocks, UnknownRow


@pytest.fixture
def tables() -> BlockTables:
    return BlockTables(max_rows=3, max_model_len=10, block_size=4)


def _fill(tables: BlockTables, row: int, blocks: list[int], num_tokens: int) -> None:
    tables.ids[row, : len(blocks)] = blocks
    tables.num_blocks[row] = len(blocks)
    tables.num_tokens[row] = num_tokens


def test_a_row_has_room_for_the_longest_sequence(tables: BlockTables) -> None:
    assert tables.ids.shape == (3, 3)
    assert tables.ids.dtype == np.int32


def test_rows_are_handed_out_from_the_lowest(tables: BlockTables) -> None:
    assert tables.take_rows(2).tolist() == [0, 1]
    assert tables.num_free_rows == 1
    assert tables.live_rows().tolist() == [0, 1]


def test_no_rows_may_be_asked_for(tables: BlockTables) -> None:
    assert tables.take_rows(0).tolist() == []


def test_too_many_rows_are_refused_and_nothing_changes(tables: BlockTables) -> None:
    tables.take_rows(2)
    before = pickle.dumps(tables)
    with pytest.raises(OutOfBlocks) as raised:
        tables.take_rows(2)
    assert (raised.value.num_needed, raised.value.num_available) == (2, 1)
    assert pickle.dumps(tables) == before


def test_a_particular_row_is_handed_out_once(tables: BlockTables) -> None:
    tables.take_row(1)
    before = pickle.dumps(tables)
    for row in (1, 3, -1):
        with pytest.raises(UnknownRow, match=f"row {row} is not free"):
            tables.take_row(row)
    assert pickle.dumps(tables) == before
    assert tables.take_rows(2).tolist() == [0, 2]


def test_rows_come_back_empty(tables: BlockTables) -> None:
    rows = tables.take_rows(2)
    _fill(tables, 0, [7, 8], 5)
    tables.give_rows(rows.tolist())
    assert tables.num_free_rows == 3
    assert tables.num_blocks.tolist() == tables.num_tokens.tolist() == [0, 0, 0]
    tables.check_integrity()


def test_row_ids_are_a_view_of_the_blocks_in_use(tables: BlockTables) -> None:
    tables.take_rows(1)
    _fill(tables, 0, [7, 8], 5)
    assert tables.row_ids(0).tolist() == [7, 8]
    assert np.shares_memory(tables.row_ids(0), tables.ids)


@pytest.mark.parametrize("row", [1, 3, -1])
def test_a_row_that_is_not_live_has_no_ids(tables: BlockTables, row: int) -> None:
    tables.take_rows(1)
    with pytest.raises(UnknownRow, match=f"row {row} holds no live sequence"):
        tables.row_ids(row)


def test_integrity_check_sees_a_row_given_twice(tables: BlockTables) -> None:
    rows = tables.take_rows(1)
    tables.give_rows(rows.tolist())
    tables.give_rows(rows.tolist())
    with pytest.raises(IntegrityError, match="free list twice"):
        tables.check_integrity()


def test_integrity_check_sees_a_free_row_that_is_live(tables: BlockTables) -> None:
    tables.is_live[2] = True
    with pytest.raises(IntegrityError, match="marked live"):
        tables.check_integrity()


def test_integrity_check_sees_a_lost_row(tables: BlockTables) -> None:
    tables.take_rows(1)
    tables.is_live[0] = False
    with pytest.raises(IntegrityError, match="lost"):
        tables.check_integrity()


def test_integrity_check_sees_blocks_of_a_free_row(tables: BlockTables) -> None:
    tables.num_blocks[1] = 1
    with pytest.raises(IntegrityError, match="still has blocks"):
        tables.check_integrity()


def test_integrity_check_sees_more_tokens_than_slots(tables: BlockTables) -> None:
    tables.take_rows(1)
    _fill(tables, 0, [7], 5)
    with pytest.raises(IntegrityError, match="tokens exceed the blocks"):
        tables.check_integrity()
