"""The step under construction: the budget, and what becomes of the parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from paged.allocator.base import BlockMoves
from paged.scheduler.plan import StepPlan
from paged.scheduler.request import Request
from paged.scheduler.request_state import RequestState
from paged.scheduler.scheduler import Scheduler


def _array(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("budget", "clipped"),
    [
        (None, [4, 1, 3]),
        (8, [4, 1, 3]),
        (7, [4, 1, 2]),
        (5, [4, 1, 0]),
        (3, [3, 0, 0]),
        (0, [0, 0, 0]),
        (-2, [0, 0, 0]),
    ],
)
def test_the_budget_is_spent_in_order(budget: int | None, clipped: list[int]) -> None:
    assert StepPlan(budget).clip(_array(4, 1, 3)).tolist() == clipped


def test_scheduled_tokens_are_charged() -> None:
    plan = StepPlan(10)
    plan.add(_array(0, 1), _array(0, 0), _array(3, 6), _array(3, 4))
    assert plan.budget_tokens == 3
    unlimited = StepPlan(None)
    unlimited.add(_array(0), _array(0), _array(3), _array(3))
    assert unlimited.budget_tokens is None


def test_parts_are_joined_and_complete_rows_draw(make_scheduler: Callable[..., Scheduler]) -> None:
    core = make_scheduler()._core
    plan = StepPlan(20)
    plan.add(_array(0, 1), _array(5, 0), _array(1, 6), _array(1, 4))
    pending = _array(2)
    plan.add(_array(3), _array(7), pending, pending)
    plan.copies += [BlockMoves(_array(1), _array(2)), BlockMoves(_array(3), _array(4))]
    plan.num_preempted = 2
    batch = plan.batch(core, step=7)
    assert batch.step == 7
    assert batch.rows.tolist() == [0, 1, 3]
    assert batch.num_computed.tolist() == [5, 0, 7]
    assert batch.num_scheduled.tolist() == [1, 4, 2]
    assert (batch.num_samples.tolist(), batch.num_drawn) == ([1, 0, 1], 2)
    assert batch.copies.src.tolist() == [1, 3]
    assert (len(batch.swap_in), len(batch.swap_out), batch.num_preempted) == (0, 0, 2)


@pytest.mark.parametrize(("is_rebuilt", "num_samples"), [(False, 3), (True, 0)])
def test_a_group_draws_for_all_its_sequences_once(
    make_scheduler: Callable[..., Scheduler],
    make_request: Callable[..., Request],
    is_rebuilt: bool,
    num_samples: int,
) -> None:
    core = make_scheduler()._core
    state = RequestState(
        request=make_request("a", num_sequences=3),
        key=(0, 0.0, 0),
        sequence_indices=[0, 1, 2],
        rows=[1, 2, 3],
        saved=[np.zeros(5, np.int32)] * 3 if is_rebuilt else [],
    )
    core.unforked[1] = state
    plan = StepPlan(None)
    pending = _array(1, 4)
    plan.add(_array(0, 1), _array(4, 0), pending, pending)
    batch = plan.batch(core, step=0)
    assert (batch.num_samples.tolist(), batch.num_drawn) == ([1, num_samples], 1 + num_samples)


@pytest.mark.parametrize("has_group", [False, True])
def test_an_empty_plan_is_an_empty_batch(
    make_scheduler: Callable[..., Scheduler], make_request: Callable[..., Request], has_group: bool
) -> None:
    core = make_scheduler()._core
    if has_group:
        core.unforked[0] = RequestState(
            request=make_request("a", num_sequences=2), key=(0, 0.0, 0), sequence_indices=[0, 1]
        )
    batch = StepPlan(None).batch(core, step=0)
    assert (batch.num_seqs, batch.num_moves, batch.admitted) == (0, 0, ())
    assert (len(batch.num_samples), batch.num_drawn) == (0, 0)


def test_sequences_that_complete_their_tokens_draw_one_each(
    make_scheduler: Callable[..., Scheduler],
) -> None:
    plan = StepPlan(None)
    for rows in (_array(0, 1), _array(2)):
        pending = rows + 1
        plan.add(rows, rows, pending, pending)
    batch = plan.batch(make_scheduler()._core, step=0)
    assert (batch.num_samples.tolist(), batch.num_drawn) == ([1, 1, 1], 3)
