"""Allocators by name."""

from __future__ import annotations

import pytest

from paged.allocator.base import Demand
from paged.allocator.grouped import GroupedAllocator
from paged.allocator.paged import PagedAllocator
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.config import CacheConfig, GroupConfig
from paged.errors import ConfigError

NAMES = [
    "paged",
    "reserved-max",
    "reserved-pow2",
    "reserved-oracle",
    "reserved-oracle-first-fit",
    "reserved-oracle-best-fit",
    "static",
    "virtual",
]


def _config(name: str) -> CacheConfig:
    return CacheConfig(num_blocks=64, block_size=4, max_model_len=48, allocator=name)


def test_the_agreed_names_are_there_in_order() -> None:
    assert list(ALLOCATORS) == NAMES
    assert [kind.name for kind in ALLOCATORS.values()] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_name_builds_an_allocator_that_says_it(name: str) -> None:
    allocator = make_allocator(_config(name), max_rows=3)
    assert allocator.name == name
    assert (allocator.num_blocks, allocator.block_size, allocator.capacity_slots) == (64, 4, 256)
    assert allocator.tables.max_rows == 3
    allocator.check_integrity()


@pytest.mark.parametrize(
    ("name", "num_slots", "rounding"),
    [
        ("paged", 20, 0),
        ("reserved-max", 48, 16),
        ("reserved-pow2", 28, 4),
        ("reserved-oracle", 24, 8),
        ("reserved-oracle-first-fit", 24, 0),
        ("reserved-oracle-best-fit", 24, 0),
        ("static", 48, 16),
        ("virtual", 20, 0),
    ],
)
def test_each_policy_grants_what_it_should(name: str, num_slots: int, rounding: int) -> None:
    allocator = make_allocator(_config(name), max_rows=3)
    demand = Demand(num_tokens=17, max_tokens=40, final_tokens=23)
    assert allocator.admit(demand) is not None
    usage = allocator.usage(None)
    assert (usage.granted_unused, usage.rounding) == (num_slots, rounding)
    assert usage.free == 256 - num_slots - rounding


def test_only_static_needs_static_batches() -> None:
    assert [name for name in NAMES if ALLOCATORS[name].batching == "static"] == ["static"]


def test_only_oracles_and_powers_of_two_are_told_the_future() -> None:
    told = [name for name in NAMES if ALLOCATORS[name].needs_future]
    assert told == [name for name in NAMES if "oracle" in name or "pow2" in name][:4]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError) as raised:
        make_allocator(_config("slab"), max_rows=3)
    assert str(raised.value) == f"unknown allocator 'slab'; choose from {', '.join(NAMES)}"


@pytest.mark.parametrize(
    ("windows", "kind"),
    [((None,), PagedAllocator), ((8,), PagedAllocator), ((8, None), GroupedAllocator)],
)
def test_several_groups_are_joined(windows: tuple[int | None, ...], kind: type) -> None:
    groups = tuple(GroupConfig(num_blocks=6, window=window) for window in windows)
    config = CacheConfig(num_blocks=6 * len(groups), groups=groups)
    assert type(make_allocator(config, max_rows=3)) is kind
