"""Which scores of the calibration are accepted."""

from __future__ import annotations

from dataclasses import replace

from experiments.calibration_run import is_accepted
from experiments.sim.calibrate import Score

GOOD = Score(
    running_mae=3.0,
    kv_mae_points=3.0,
    mean_ttft_s=1.0,
    mean_latency_s=1.0,
    ttft_error_pct=-5.0,
    latency_error_pct=5.0,
)


def test_bounds_are_inclusive_and_each_one_counts() -> None:
    assert is_accepted(GOOD)
    assert not is_accepted(replace(GOOD, running_mae=3.01))
    assert not is_accepted(replace(GOOD, kv_mae_points=3.01))
    assert not is_accepted(replace(GOOD, ttft_error_pct=-5.01))
    assert not is_accepted(replace(GOOD, latency_error_pct=5.01))
