"""What one sequence holds says how many fit: filling the pool comes to the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paged.allocator.base import Demand
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.cli.concurrency import max_concurrency
from paged.config import CacheConfig, GroupConfig
from paged.errors import OutOfBlocks


def _config(allocator: str, num_blocks: int, **options: Any) -> CacheConfig:
    return CacheConfig(
        num_blocks=num_blocks,
        block_size=4,
        max_model_len=96,
        allocator=allocator,
        watermark=0.0,
        **options,
    )


def _filled(config: CacheConfig, num_tokens: int) -> int:
    """Let sequences come and grow until one finds no room; return how many found it."""
    most = config.capacity_slots // num_tokens + 1
    allocator = make_allocator(config, max_rows=most)
    prompt = max(1, num_tokens // 2)
    demand = Demand(num_tokens=prompt, max_tokens=num_tokens, final_tokens=num_tokens)
    for count in range(most):
        admission = allocator.admit(demand)
        if admission is None:
            return count
        try:
            allocator.grow(admission.rows, np.array([num_tokens]))
        except OutOfBlocks:
            return count
    raise AssertionError("more sequences than there are slots")


@pytest.mark.parametrize("num_blocks", [1, 24, 25, 100, 1003])
@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_it_is_what_fills_the_pool(allocator: str, num_blocks: int) -> None:
    config = _config(allocator, num_blocks)
    for num_tokens in (1, 2, 4, 5, 17, 32, 95, 96):
        assert max_concurrency(config, num_tokens) == _filled(config, num_tokens)


@pytest.mark.parametrize("num_blocks", [23, 47, 1003])
def test_it_is_what_fills_the_pool_in_pages(num_blocks: int) -> None:
    config = _config("virtual", num_blocks, blocks_per_page=3)
    for num_tokens in (1, 12, 13, 96):
        assert max_concurrency(config, num_tokens) == _filled(config, num_tokens)


def _windowed(*pools: tuple[int, int | None]) -> CacheConfig:
    groups = tuple(GroupConfig(num_blocks=blocks, window=window) for blocks, window in pools)
    return CacheConfig(
        num_blocks=sum(blocks for blocks, _ in pools),
        block_size=4,
        max_model_len=96,
        watermark=0.0,
        groups=groups,
        max_step_tokens=8,
    )


def test_a_window_counts_by_what_it_keeps() -> None:
    # 12 tokens of the window end at 96: blocks 21 to 23, of 24 that the sequence had.
    assert max_concurrency(_windowed((30, 12)), 96) == 10
    # One token more lies in a block of its own, and the first is still read.
    assert max_concurrency(_windowed((30, 12)), 93) == 7
    # As long as it fills no window, a sequence keeps all.
    assert max_concurrency(_windowed((30, 12)), 8) == 15


def test_the_group_that_runs_out_first_decides() -> None:
    assert max_concurrency(_windowed((30, 12), (48, None)), 96) == 2
    assert max_concurrency(_windowed((3 * 7, 12), (24 * 9, None)), 96) == 7


def test_what_does_not_fit_is_none() -> None:
    assert max_concurrency(_config("paged", 23), 96) == 0
    assert max_concurrency(_config("reserved-max", 23), 4) == 0
    # A step of 8 tokens beside the window: the last sequence must come to its end.
    assert max_concurrency(_windowed((4, 12)), 96) == 0
