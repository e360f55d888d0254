"""Pools of KV groups: how many blocks a window needs, and who gets what it saves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model_zoo.tiny import CONFIG
from paged.config import GroupConfig
from paged.engine.group_pools import group_pools
from paged.engine.llm_config import LLMConfig

# A window of 8 tokens in blocks of 4: four blocks with one of a step's, four for all its tokens.
OPTIONS: dict[str, Any] = {
    "block_size": 4,
    "max_num_seqs": 2,
    "max_num_batched_tokens": 16,
    "enable_prefix_caching": False,
}
MOST_WINDOW_BLOCKS = 2 * 4 + 4


def _pools(
    *windows: int | None, num_blocks: int = 40, **options: Any
) -> tuple[GroupConfig, ...] | None:
    config = replace(CONFIG, num_layers=len(windows), windows=windows, max_model_len=96)
    return group_pools(LLMConfig(**(OPTIONS | options)), config, num_blocks=num_blocks)


@pytest.mark.parametrize("windows", [(None, None), (96, 96), (None, 96), (200, 100)])
def test_windows_that_no_sequence_outgrows_are_none(windows: tuple[int | None, ...]) -> None:
    assert _pools(*windows) is None


@pytest.mark.parametrize("allocator", ["reserved-max", "static", "virtual"])
def test_other_allocators_have_one_table(allocator: str) -> None:
    assert _pools(8, None, allocator=allocator) is None


def test_a_model_of_windows_needs_no_more_than_its_windows() -> None:
    assert _pools(8, 8) == (GroupConfig(num_blocks=MOST_WINDOW_BLOCKS, window=8),)
    assert _pools(8, 8, num_blocks=9) == (GroupConfig(num_blocks=9, window=8),)


def test_what_a_window_saves_goes_to_the_others() -> None:
    # Of two layers each 28 blocks are saved, which is 18 for three layers.
    assert _pools(None, 8, None, 8, None, num_blocks=40, max_num_seqs=2) == (
        GroupConfig(num_blocks=48),
        GroupConfig(num_blocks=MOST_WINDOW_BLOCKS, window=8),
    )
    assert _pools(None, 8, None, 8, None, num_blocks=20) == (
        GroupConfig(num_blocks=25),
        GroupConfig(num_blocks=MOST_WINDOW_BLOCKS, window=8),
    )


def test_the_memory_is_no_more_than_that_of_one_table() -> None:
    for num_blocks in range(1, 60):
        pools = _pools(None, 8, 8, num_blocks=num_blocks)
        assert pools is not None
        full, window = pools
        assert full.num_blocks + 2 * window.num_blocks <= 3 * num_blocks
        assert full.num_blocks >= num_blocks


def test_named_blocks_are_what_each_group_has_at_most() -> None:
    assert _pools(None, 8, num_blocks=30, num_gpu_blocks_override=30) == (
        GroupConfig(num_blocks=30),
        GroupConfig(num_blocks=MOST_WINDOW_BLOCKS, window=8),
    )


def test_each_pool_has_its_own_memory_on_the_host() -> None:
    pools = _pools(None, 8, num_blocks=20, preemption="swap")
    assert pools is not None
    assert [pool.num_host_blocks for pool in pools] == [pool.num_blocks for pool in pools]
    pools = _pools(None, 8, preemption="swap", num_host_blocks=7)
    assert pools is not None
    assert [pool.num_host_blocks for pool in pools] == [7, 7]


def test_two_windows_are_two_pools_with_a_window_each() -> None:
    pools = _pools(8, 16)
    assert pools is not None
    assert [(pool.window, pool.num_blocks) for pool in pools] == [(8, 12), (16, 2 * 6 + 4)]


@pytest.mark.parametrize("choice", [None, True])
def test_with_prefix_caching_every_group_has_room_for_what_is_cached(choice: bool | None) -> None:
    pools = _pools(None, 8, enable_prefix_caching=choice)
    assert pools == (GroupConfig(num_blocks=40), GroupConfig(num_blocks=40, window=8))
