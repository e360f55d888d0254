"""Arrival processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.workload.arrivals import (
    ARRIVALS,
    arrival_tick_s,
    from_trace,
    make_arrivals,
    poisson,
    spread_ticks,
)
from experiments.workload.errors import WorkloadError
from experiments.workload.traces import load_trace
from experiments.workload.workload import FloatArray, Workload


def make(num_requests: int, arrival_s: FloatArray | None = None) -> Workload:
    lengths = np.ones(num_requests, dtype=np.int64)
    return Workload(
        name="made",
        source="test",
        prompt_tokens=lengths,
        output_tokens=lengths,
        num_rows_read=num_requests,
        arrival_s=arrival_s,
    )


def test_every_name_works() -> None:
    workload = make(3, np.array([1.0, 2.0, 4.5]))
    times = {name: make_arrivals(name, workload, seed=1, rate_per_s=2.0) for name in ARRIVALS}
    assert times["saturated"].tolist() == [0.0, 0.0, 0.0]
    assert times["trace"].tolist() == [0.0, 1.0, 3.5]
    assert (np.diff(times["poisson"]) > 0).all()


def test_poisson_has_its_rate_and_spread() -> None:
    num = 20_000
    times = poisson(make(num), rate_per_s=5.0, seed=3)
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(0.2, rel=0.03)
    assert gaps.std() == pytest.approx(0.2, rel=0.03)
    counts = np.bincount(times.astype(int))[:-1]
    assert counts.var() / counts.mean() == pytest.approx(1.0, abs=0.1)


def test_poisson_repeats_by_seed_and_stretches_with_the_rate() -> None:
    slow = poisson(make(50), rate_per_s=1.0, seed=3)
    assert (poisson(make(50), rate_per_s=1.0, seed=3) == slow).all()
    assert (poisson(make(50), rate_per_s=1.0, seed=4) != slow).all()
    np.testing.assert_allclose(poisson(make(50), rate_per_s=4.0, seed=3) * 4, slow)


@pytest.mark.parametrize("rate_per_s", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_rates_are_refused(rate_per_s: float) -> None:
    with pytest.raises(WorkloadError, match="rate must be above 0"):
        poisson(make(3), rate_per_s=rate_per_s, seed=0)


def test_bad_calls_are_refused() -> None:
    with pytest.raises(WorkloadError, match="one of saturated, trace, poisson, got 'burst'"):
        make_arrivals("burst", make(3), seed=0)
    with pytest.raises(WorkloadError, match="need a rate"):
        make_arrivals("poisson", make(3), seed=0)
    with pytest.raises(WorkloadError, match="records no timestamps"):
        make_arrivals("trace", make(3), seed=0)


def test_only_a_grid_has_a_tick() -> None:
    assert arrival_tick_s(np.repeat(np.arange(0.0, 15.0, 3.0, dtype=np.float64), 4)) == 3.0
    assert arrival_tick_s(np.array([0.0, 0.0, 1.0, 2.5, 4.0])) is None
    assert arrival_tick_s(np.zeros(10)) is None


def test_spread_stays_within_the_tick() -> None:
    grid: FloatArray = np.repeat(np.arange(0.0, 600.0, 3.0, dtype=np.float64), 10)
    spread = spread_ticks(grid, tick_s=3.0, seed=1)
    shift = spread - grid
    assert spread.min() == 0.0
    assert np.ptp(shift) < 3.0
    assert shift.std() == pytest.approx(3.0 / np.sqrt(12), rel=0.05)
    assert (spread_ticks(grid, tick_s=3.0, seed=1) == spread).all()


def test_mooncake_is_spread_over_its_grid_and_azure_is_left_alone(traces_dir: Path) -> None:
    mooncake = load_trace(traces_dir / "mooncake_conversation.jsonl.gz")
    assert mooncake.arrival_s is not None
    assert arrival_tick_s(mooncake.arrival_s) == pytest.approx(3.0, abs=1e-6)
    times = from_trace(mooncake, seed=0)
    assert len(np.unique(times)) == len(times)
    assert np.ptp(times) == pytest.approx(3537, abs=3)
    azure = load_trace(traces_dir / "azure_2023_conv.csv.gz")
    assert azure.arrival_s is not None
    assert (from_trace(azure, seed=0) == azure.arrival_s).all()
