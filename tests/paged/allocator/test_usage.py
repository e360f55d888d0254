"""Slot classes of grants worked out by hand."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from paged.allocator.block_table import BlockTables
from paged.allocator.usage import (
    HeldBlocks,
    SlotUsage,
    split_grants,
    split_own_grants,
    split_shared_grants,
    sum_usage,
)
from paged.errors import IntegrityError

PARTS = {
    "token": 5,
    "reserved": 2,
    "internal": 1,
    "granted_unused": 0,
    "rounding": 4,
    "cached_free": 3,
    "free": 1,
}


def test_classes_come_in_the_order_of_the_bars() -> None:
    usage = SlotUsage(capacity=16, **PARTS)
    assert usage.classes() == PARTS
    assert list(usage.classes()) == list(PARTS)


def test_classes_must_sum_to_the_capacity() -> None:
    with pytest.raises(IntegrityError, match="at least 0 and sum to 17, got"):
        SlotUsage(capacity=17, **PARTS)


def test_no_class_may_be_negative() -> None:
    with pytest.raises(IntegrityError, match="at least 0 and sum to 16, got"):
        SlotUsage(capacity=16, **(PARTS | {"free": -1, "token": 7}))


def _array(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_unused_grants_are_one_class_while_the_end_is_unknown() -> None:
    split = split_grants(_array(3, 8), _array(8, 8), None)
    assert astuple(split) == (11, 0, 0, 5)


def test_unused_grants_split_at_the_final_length() -> None:
    # used 3 of 8, ends at 5: 2 reserved, 3 internal. used 8 of 8: nothing is left.
    split = split_grants(_array(3, 8), _array(8, 8), _array(5, 20))
    assert astuple(split) == (11, 2, 3, 0)


def test_a_sequence_beyond_its_final_length_reserves_nothing() -> None:
    assert astuple(split_grants(_array(6), _array(8), _array(4))) == (6, 0, 2, 0)


def test_no_rows_use_nothing() -> None:
    assert astuple(split_grants(_array(), _array(), _array())) == (0, 0, 0, 0)


@pytest.fixture
def shared() -> tuple[BlockTables, HeldBlocks]:
    """Rows of 6 and 5 tokens that share block 9; block 4 and block 2 are their own."""
    tables = BlockTables(max_rows=2, max_model_len=8, block_size=4)
    tables.take_rows(2)
    tables.num_tokens[:] = [6, 5]
    held = HeldBlocks(_array(9, 4, 9, 2), _array(0, 0, 1, 1), _array(0, 1, 0, 1))
    return tables, held


def test_a_shared_block_counts_once(shared: tuple[BlockTables, HeldBlocks]) -> None:
    split, num_blocks = split_shared_grants(*shared, None)
    assert num_blocks == 3
    assert astuple(split) == (4 + 2 + 1, 0, 0, 12 - 7)


def test_a_shared_tail_is_as_full_as_its_fullest_holder() -> None:
    tables = BlockTables(max_rows=2, max_model_len=8, block_size=4)
    tables.take_rows(2)
    tables.num_tokens[:] = [1, 3]
    held = HeldBlocks(_array(9, 9), _array(0, 1), _array(0, 0))
    split, num_blocks = split_shared_grants(tables, held, _array(4, 3))
    assert num_blocks == 1
    assert astuple(split) == (3, 1, 0, 0)


def test_shared_grants_split_at_the_final_lengths(
    shared: tuple[BlockTables, HeldBlocks],
) -> None:
    split, _ = split_shared_grants(*shared, _array(7, 5))
    assert astuple(split) == (7, 1, 4, 0)


def test_blocks_that_a_window_has_left_are_not_granted_any_more() -> None:
    tables = BlockTables(max_rows=2, max_model_len=16, block_size=4)
    tables.take_rows(2)
    tables.num_blocks[:], tables.first_block[:], tables.num_tokens[:] = [4, 1], [2, 0], [13, 2]
    assert astuple(split_own_grants(tables, None)) == (5 + 2, 0, 0, 3 + 2)
    assert astuple(split_own_grants(tables, _array(15, 3))) == (5 + 2, 2 + 1, 1 + 1, 0)


def test_usage_adds_up_class_by_class() -> None:
    one = SlotUsage(capacity=16, **PARTS)
    total = sum_usage([one, one, one])
    assert total.capacity == 48
    assert total.classes() == {name: 3 * slots for name, slots in PARTS.items()}
