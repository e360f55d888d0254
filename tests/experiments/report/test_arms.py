"""Arms: every allocator known, oracles labelled, looks told apart."""

from __future__ import annotations

from experiments.report.arms import KNOWN_ARMS, arm_named, in_order
from paged.allocator.registry import ALLOCATORS


def test_every_allocator_of_the_registry_is_known() -> None:
    assert {arm.name for arm in KNOWN_ARMS} == set(ALLOCATORS)


def test_exactly_the_oracles_are_labelled_unreachable() -> None:
    for arm in KNOWN_ARMS:
        is_labelled = "unreachable" in arm.label and "unreachable" in arm.tick_label
        assert is_labelled is arm.name.startswith("reserved-oracle"), arm.name


def test_no_two_arms_look_alike() -> None:
    assert len({arm.colour for arm in KNOWN_ARMS}) == len(KNOWN_ARMS)
    assert len({arm.marker for arm in KNOWN_ARMS}) == len(KNOWN_ARMS)


def test_order_is_fixed_and_unknown_arms_come_last() -> None:
    names = ["mine", "paged", "reserved-max", "paged"]
    assert [arm.name for arm in in_order(names)] == ["reserved-max", "paged", "mine"]
    assert arm_named("mine").is_oracle is False
