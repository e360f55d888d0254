"""A measured run held against its prediction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.live.trial import Trial
from paged.errors import IntegrityError
from tests.helpers.live_steps import steps_of

WORK = {"seqs": [4, 2], "held_rows": [4, 4], "new_tokens": [4, 2], "preempted": [0, 3]}
TRIAL = Trial(
    allocator="static",
    batching="static",
    seed=0,
    rounds_s=(4.0,),
    measured=steps_of([1.0, 3.0], **WORK),
    predicted=steps_of([1.0, 1.0], **WORK),
    first_scored=0,
)


def test_differences_are_against_the_measurement() -> None:
    row = TRIAL.row()
    assert row["scored_tokens_per_s"] == row["tokens_per_s"] == pytest.approx(1.5)
    assert row["predicted_tokens_per_s"] == pytest.approx(3.0)
    assert row["rate_difference_pct"] == pytest.approx(100.0)
    assert row["batch_difference_pct"] == pytest.approx(100 * (3.0 / 2.5 - 1))
    assert row["preemptions"] == 3


def test_fitted_steps_are_not_scored() -> None:
    row = replace(TRIAL, first_scored=1).row()
    assert row["tokens_per_s"] == pytest.approx(1.5)
    assert row["scored_tokens_per_s"] == pytest.approx(2 / 3)
    assert row["predicted_tokens_per_s"] == pytest.approx(2.0)


def test_other_steps_are_no_prediction() -> None:
    with pytest.raises(IntegrityError, match="static: the simulation scheduled other steps"):
        replace(TRIAL, predicted=steps_of([1.0, 1.0]))
