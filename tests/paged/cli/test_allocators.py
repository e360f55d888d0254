"""`paged allocators`: the registry as a reader sees it."""

from __future__ import annotations

import pytest

from paged.allocator.registry import ALLOCATORS
from paged.cli.allocators import UNREACHABLE, describe
from paged.cli.main import main


def test_it_lists_every_policy_of_the_registry_in_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["allocators"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(ALLOCATORS)
    assert all(
        kind.description in line for line, kind in zip(lines, ALLOCATORS.values(), strict=True)
    )


def test_oracles_are_labelled_unreachable_and_paged_is_not() -> None:
    labelled = {name for name, kind in ALLOCATORS.items() if UNREACHABLE in describe(kind)}
    assert {name for name in ALLOCATORS if "oracle" in name} <= labelled
    assert labelled.isdisjoint({"paged", "reserved-max", "static", "virtual"})
