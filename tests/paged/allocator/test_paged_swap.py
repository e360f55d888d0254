"""Rows of the paged allocator that go to the host and come back."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from paged.allocator.base import Demand
from paged.allocator.paged import PagedAllocator
from paged.config import CacheConfig
from paged.errors import UnknownRow

SIZE = 4
MAX_ROWS = 4


def _make(num_blocks: int = 10, **values: Any) -> PagedAllocator:
    config = CacheConfig(num_blocks=num_blocks, block_size=SIZE, max_model_len=24, **values)
    return PagedAllocator(config, max_rows=MAX_ROWS)


def _rows(*rows: int) -> np.ndarray:
    return np.array(rows, np.int64)


def _run(allocator: PagedAllocator, tokens: list[int]) -> np.ndarray:
    """Admit a prompt, compute all of it, and return its row."""
    admission = allocator.admit(Demand(num_tokens=len(tokens), max_tokens=24))
    assert admission is not None
    allocator.grow(admission.rows, _rows(len(tokens)))
    return admission.rows


def test_swapped_rows_return_with_their_blocks() -> None:
    allocator = _make(num_host_blocks=4)
    rows = _run(allocator, [1] * 6)
    out = allocator.swap_out(rows)
    assert out is not None
    assert (out.src.tolist(), out.dst.tolist()) == ([0, 1], [0, 1])
    assert allocator.pool.num_free == 10
    assert allocator.usage(None).token == 0
    back = allocator.swap_in(rows)
    assert back is not None
    assert back.src.tolist() == [0, 1]
    assert allocator.tables.row_ids(0).tolist() == back.dst.tolist()
    assert allocator.usage(None).token == 6


def test_rows_return_only_with_room_to_grow() -> None:
    allocator = _make(num_blocks=4, num_host_blocks=4)
    first, second = _run(allocator, [1] * 8), _run(allocator, [2] * 4)
    allocator.swap_out(first)
    allocator.grow(second, _rows(8))
    before = pickle.dumps(allocator)
    assert allocator.swap_in(first) is None
    assert pickle.dumps(allocator) == before
    allocator.release(second)
    assert allocator.swap_in(first, headroom_blocks=4) is not None


def test_only_rows_on_the_device_are_swapped_out() -> None:
    allocator = _make(num_host_blocks=4)
    rows = _run(allocator, [1] * 6)
    allocator.swap_out(rows)
    before = pickle.dumps(allocator)
    for row in (0, 3):
        with pytest.raises(UnknownRow, match=f"row {row} is not on the device"):
            allocator.swap_out(_rows(row))
    assert pickle.dumps(allocator) == before


def test_a_swapped_row_can_be_released() -> None:
    allocator = _make(num_host_blocks=2)
    rows = _run(allocator, [1] * 6)
    allocator.swap_out(rows)
    allocator.release(rows)
    allocator.check_integrity()
    assert allocator.swap_out(_run(allocator, [1] * 6)) is not None


def test_only_swapped_rows_return() -> None:
    allocator = _make(num_host_blocks=4)
    rows = _run(allocator, [1] * 6)
    before = pickle.dumps(allocator)
    with pytest.raises(UnknownRow, match="row 0 is not swapped out"):
        allocator.swap_in(rows)
    assert pickle.dumps(allocator) == before
