"""Every operation can be replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.kernel.registry import OP_NAMES, unfiled_variants
from paged.replay.calls import CALLS
from paged.replay.contender import contender
from paged.replay.replay import replay_step
from paged.replay.shape import ReplayShape
from paged.scheduler.batch import Batch
from tests.helpers.replayed_calls import SHAPE, WINDOWED, all_calls


def test_there_is_a_maker_for_each_operation() -> None:
    assert sorted(CALLS) == sorted(OP_NAMES)


def test_moves_are_those_of_a_batch() -> None:
    assert {name for each in CALLS.values() for name in each.moves} == {
        "copies",
        "swap_in",
        "swap_out",
    }
    assert all(name in Batch.__slots__ for each in CALLS.values() for name in each.moves)


@pytest.mark.parametrize("shape", [SHAPE, WINDOWED], ids=["all keys", "window"])
@pytest.mark.parametrize("op", CALLS)
def test_what_serves_a_cpu_is_right_in_every_call(
    op: str, shape: ReplayShape, grouped_run: Path
) -> None:
    native = contender(op, unfiled_variants(op)[0])
    outcomes = [replay_step(call, native, None) for _, call in all_calls(op, grouped_run, shape)]
    assert outcomes
    assert [each for each in outcomes if each.fault is not None] == []
