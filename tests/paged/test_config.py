"""Configurations refuse what contradicts itself and cannot be changed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from paged.config import (
    BATCHINGS,
    EVICTIONS,
    POLICIES,
    PREEMPTIONS,
    CacheConfig,
    GroupConfig,
    SchedulerConfig,
)
from paged.errors import ConfigError


def test_capacity_counts_whole_blocks() -> None:
    assert CacheConfig(num_blocks=983, block_size=16).capacity_slots == 15_728


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"num_blocks": 0}, "num_blocks: expected an integer at least 1, got 0"),
        ({"block_size": 0}, "block_size: expected an integer at least 1, got 0"),
        ({"max_model_len": -1}, "max_model_len: expected an integer at least 1, got -1"),
        ({"blocks_per_page": 0}, "blocks_per_page: expected an integer at least 1, got 0"),
        ({"num_host_blocks": -1}, "num_host_blocks: expected an integer at least 0, got -1"),
        ({"watermark": -0.01}, "0 <= watermark < 1, got -0.01"),
        ({"watermark": 1.0}, "0 <= watermark < 1, got 1.0"),
        ({"watermark": float("nan")}, "0 <= watermark < 1, got nan"),
        ({"eviction": "random"}, "eviction must be one of lru, lfu, got 'random'"),
        ({"max_step_tokens": 0}, "max_step_tokens: expected an integer at least 1, got 0"),
        ({"groups": ()}, "groups must name one pool at least, or be None"),
        ({"groups": (GroupConfig(num_blocks=7),)}, "num_blocks must be that of all groups, 7"),
        (
            {"groups": (GroupConfig(num_blocks=8),), "allocator": "static"},
            "groups need the allocator paged, got static",
        ),
        (
            {"groups": (GroupConfig(num_blocks=8, num_host_blocks=1),)},
            "num_host_blocks must be that of all groups, 1, got 0",
        ),
    ],
)
def test_cache_config_names_what_is_wrong(values: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ConfigError) as raised:
        CacheConfig(**{"num_blocks": 8, **values})
    assert wanted in str(raised.value)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"max_num_seqs": 0}, "max_num_seqs: expected an integer at least 1, got 0"),
        ({"lookahead": -1}, "lookahead: expected an integer at least 0, got -1"),
        (
            {"max_num_batched_tokens": 0},
            "max_num_batched_tokens: expected an integer at least 1, got 0",
        ),
        ({"policy": "lifo"}, "policy must be one of fcfs, priority, got 'lifo'"),
        ({"batching": ""}, "batching must be one of continuous, static, got ''"),
        ({"preemption": "drop"}, "preemption must be one of recompute, swap, got 'drop'"),
    ],
)
def test_scheduler_config_names_what_is_wrong(values: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ConfigError) as raised:
        SchedulerConfig(**values)
    assert wanted in str(raised.value)


@pytest.mark.parametrize(
    ("name", "choices"),
    [("policy", POLICIES), ("batching", BATCHINGS), ("preemption", PREEMPTIONS)],
)
def test_every_listed_choice_of_the_scheduler_is_accepted(
    name: str, choices: tuple[str, ...]
) -> None:
    for choice in choices:
        values: dict[str, Any] = {name: choice}
        assert getattr(SchedulerConfig(**values), name) == choice


@pytest.mark.parametrize("name", EVICTIONS)
def test_every_listed_eviction_is_accepted(name: str) -> None:
    assert CacheConfig(num_blocks=1, eviction=name).eviction == name


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"num_blocks": 0}, "num_blocks: expected an integer at least 1, got 0"),
        ({"window": 0}, "window: expected an integer at least 1, got 0"),
        ({"num_host_blocks": -1}, "num_host_blocks: expected an integer at least 0, got -1"),
    ],
)
def test_group_config_names_what_is_wrong(values: dict[str, int], wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted):
        GroupConfig(**{"num_blocks": 8, **values})


def test_without_groups_there_is_one_pool() -> None:
    config = CacheConfig(num_blocks=8, num_host_blocks=3)
    assert config.pools == (GroupConfig(num_blocks=8, num_host_blocks=3),)


def test_groups_have_pools_of_their_own() -> None:
    groups = (GroupConfig(num_blocks=5, window=8), GroupConfig(num_blocks=3))
    assert CacheConfig(num_blocks=8, groups=groups).pools == groups


def test_no_token_budget_means_no_limit() -> None:
    assert SchedulerConfig(max_num_batched_tokens=None).max_num_batched_tokens is None


@pytest.mark.parametrize("config", [CacheConfig(num_blocks=1), SchedulerConfig()])
def test_a_config_is_frozen(config: CacheConfig | SchedulerConfig) -> None:
    name = dataclasses.fields(config)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(config, name, 7)
