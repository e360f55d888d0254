"""Where time goes, by hand."""

from __future__ import annotations

import pytest

from experiments.live.shares import mean_batch, shares_of, tokens_per_s
from tests.helpers.live_steps import steps_of


def test_every_part_of_a_step_goes_to_one_share() -> None:
    # 10 s: 2 outside the model; of the other 8 a quarter is padding; of the 6 left, half idle.
    steps = steps_of(
        [10.0], model_s=[8.0], padding=[1], scheduled_tokens=[3], seqs=[2], held_rows=[4]
    )
    shares = shares_of(steps)
    assert shares.no_model_pct == pytest.approx(20.0)
    assert shares.padding_pct == pytest.approx(20.0)
    assert shares.idle_pct == pytest.approx(30.0)
    assert shares.work_pct == pytest.approx(30.0)


def test_steps_count_by_their_time() -> None:
    steps = steps_of([1.0, 3.0], seqs=[4, 2], held_rows=[4, 4], new_tokens=[4, 2])
    assert shares_of(steps).idle_pct == pytest.approx(100 * 3 / 4 * 1 / 2)
    assert mean_batch(steps) == pytest.approx((4 * 1 + 2 * 3) / 4)
    assert tokens_per_s(steps) == pytest.approx(6 / 4)
