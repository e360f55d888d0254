"""Races interleave their rounds, and comparisons do their sums."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import Comparison, Contestant, Times, race, significant


class FakeBenchmark:
    """pytest-benchmark's pedantic mode with a clock that gives 1, 2, 3, ... us."""

    def __init__(self, *, is_timing: bool = True) -> None:
        self._is_timing = is_timing
        self.stats: Any = None

    def pedantic(
        self, target: Callable[..., Any], *, setup: Callable[[], Any], rounds: int, iterations: int
    ) -> None:
        assert iterations == 1
        for _ in range(rounds):
            arguments, keywords = setup()
            target(*arguments, **keywords)
        if self._is_timing:
            data = [1e-6 * (index + 1) for index in range(rounds)]
            self.stats = SimpleNamespace(stats=SimpleNamespace(data=data))

    def as_fixture(self) -> BenchmarkFixture:
        return cast(BenchmarkFixture, self)


def times(*chunk_means_us: float) -> Times:
    return Times.of(list(chunk_means_us), work_per_round=1.0, num_chunks=len(chunk_means_us))


def test_every_chunk_of_ours_follows_a_chunk_of_each_rival() -> None:
    log: list[str] = []

    def rival(num_rounds: int) -> list[float]:
        log.append(f"rival {num_rounds}")
        return [10.0] * num_rounds

    ours = Contestant(prepare=lambda: "ready", run=log.append, work_per_round=2.0)
    raced = race(
        FakeBenchmark().as_fixture(), ours, {"rival": rival}, num_chunks=2, rounds_per_chunk=2
    )
    chunk = ["rival 2", "ready", "ready"]
    assert log == chunk * 3  # one of them for nothing
    assert raced is not None
    our_times, rivals = raced
    assert our_times.chunk_means_us == pytest.approx((0.75, 1.75))
    assert our_times.num_rounds == 4
    assert rivals["rival"].chunk_means_us == (5.0, 5.0)


def test_a_race_without_timing_still_runs() -> None:
    ran: list[int] = []
    ours = Contestant(prepare=lambda: 1, run=ran.append)
    benchmark = FakeBenchmark(is_timing=False).as_fixture()
    assert race(benchmark, ours, {}, num_chunks=1, rounds_per_chunk=1) is None
    assert ran == [1, 1]


def test_times_are_per_unit_of_work() -> None:
    summary = Times.of([2.0, 4.0, 6.0, 28.0], work_per_round=2.0, num_chunks=2)
    assert summary.mean_us == 5.0
    assert summary.median_us == 2.5
    assert summary.chunk_means_us == (1.5, 8.5)


def test_the_ratio_is_the_median_over_pairs_of_chunks() -> None:
    # The third pair met a disturbance that hit both; the ratio of means would be 2.95.
    comparison = Comparison(
        unit="step", ours=times(1.0, 1.0, 50.0), rivals={"peer": times(4.0, 3.0, 150.0)}
    )
    assert comparison.ratio("peer") == 3.0


def test_the_goal_is_judged_by_the_mean() -> None:
    reached = Comparison(unit="step", ours=times(1.0, 5.0), rivals={}, goal_us=6.0)
    assert reached.share_of_goal == 0.5
    assert Comparison(unit="step", ours=times(1.0), rivals={}).share_of_goal is None


def test_a_comparison_becomes_plain_values() -> None:
    stored = Comparison(
        unit="step",
        ours=times(1.0, 3.0),
        rivals={"peer": times(4.0, 12.0)},
        goal_us=4.0,
        notes={"hash": "sha256"},
    ).as_dict()
    assert stored["rival_over_ours"] == {"peer": 4.0}
    assert stored["ours_over_goal"] == 0.5
    assert stored["ours"]["chunk_means_us"] == [1.0, 3.0]
    assert stored["notes"] == {"hash": "sha256"}


def test_four_digits_are_kept() -> None:
    assert significant(123456.0) == 123500.0
    assert significant(0.00123456) == 0.001235
