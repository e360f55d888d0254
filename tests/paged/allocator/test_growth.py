"""Blocks appended to rows: how many, where, and when not at all."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from paged.allocator.block_pool import BlockPool
from paged.allocator.block_table import BlockTables
from paged.allocator.growth import Growth
from paged.errors import ConfigError, OutOfBlocks

SIZE = 4


def _array(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.fixture
def growth() -> Growth:
    """Three empty rows of at most four blocks, and a pool of seven."""
    tables = BlockTables(max_rows=3, max_model_len=16, block_size=SIZE)
    tables.take_rows(3)
    return Growth(tables, BlockPool(7))


def _blocks_of(growth: Growth) -> list[list[int]]:
    return [growth._tables.row_ids(row).tolist() for row in range(3)]


def test_rows_get_exactly_the_blocks_they_lack(growth: Growth) -> None:
    growth.extend(_array(2, 0), _array(9, 1), num_copies=0)
    assert _blocks_of(growth) == [[3], [], [0, 1, 2]]
    growth.extend(_array(0, 1, 2), _array(8, 4, 12), num_copies=0)
    assert _blocks_of(growth) == [[3, 4], [5], [0, 1, 2]]


def test_rows_with_room_are_left_alone(growth: Growth) -> None:
    growth.extend(_array(0, 1), _array(4, 5), num_copies=0)
    before = pickle.dumps((growth._tables, growth._pool))
    growth.extend(_array(0, 1), _array(4, 8), num_copies=0)
    growth.extend(_array(), _array(), num_copies=0)
    assert pickle.dumps((growth._tables, growth._pool)) == before


@pytest.mark.parametrize(
    ("num_tokens", "num_copies", "error", "message"),
    [
        (_array(16, 13), 0, OutOfBlocks, "needed 8 blocks, 7 available"),
        (_array(4, 4), 6, OutOfBlocks, "needed 8 blocks, 7 available"),
        (_array(4, 17), 0, ConfigError, "row 1 asks for 5 blocks, max_model_len allows 4"),
    ],
)
def test_what_cannot_be_given_changes_nothing(
    growth: Growth,
    num_tokens: np.ndarray,
    num_copies: int,
    error: type[Exception],
    message: str,
) -> None:
    before = pickle.dumps((growth._tables, growth._pool))
    with pytest.raises(error, match=message):
        growth.extend(_array(0, 1), num_tokens, num_copies=num_copies)
    assert pickle.dumps((growth._tables, growth._pool)) == before


def test_the_longest_row_takes_its_last_block(growth: Growth) -> None:
    growth.extend(_array(1), _array(12), num_copies=0)
    growth.extend(_array(1), _array(13), num_copies=0)
    assert _blocks_of(growth) == [[], [0, 1, 2, 3], []]
    with pytest.raises(ConfigError, match="row 1 asks for 5 blocks"):
        growth.extend(_array(1), _array(17), num_copies=0)


def test_blocks_to_take_are_counted_before_they_are_taken(growth: Growth) -> None:
    growth.extend(_array(0), _array(9), num_copies=0)
    before = growth._pool.num_available
    # Row 0 has room to spare, which row 1 has no use for.
    rows, num_tokens = _array(0, 1, 2), _array(1, 5, 4)
    num_missing = growth.num_missing(rows, num_tokens)
    growth.extend(rows, num_tokens, num_copies=0)
    assert num_missing == before - growth._pool.num_available == 3
