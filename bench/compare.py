"""Race our code against rivals in interleaved rounds and keep the raw numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from pytest_benchmark.fixture import BenchmarkFixture

Rival = Callable[[int], list[float]]
"""Runs so many rounds, each as much work as one of ours, and gives the time of each in us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What one contestant took per unit of work, in microseconds.

    chunk_means[chunks]: mean of each chunk of rounds, in the order they were run.
    """

    mean_us: float
    median_us: float
    p10_us: float
    p90_us: float
    num_rounds: int
    chunk_means_us: tuple[float, ...]

    @classmethod
    def of(cls, rounds_us: list[float], *, work_per_round: float, num_chunks: int) -> Times:
        """Sum up rounds that were run in num_chunks chunks of equal size."""
        per_unit: npt.NDArray[np.float64] = np.array(rounds_us) / work_per_round
        low, median, high = np.percentile(per_unit, [10, 50, 90]).tolist()
        return cls(
            mean_us=float(per_unit.mean()),
            median_us=median,
            p10_us=low,
            p90_us=high,
            num_rounds=len(per_unit),
            chunk_means_us=tuple(per_unit.reshape(num_chunks, -1).mean(axis=1).tolist()),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, to four significant digits."""
        return {
            "mean_us": significant(self.mean_us),
            "median_us": significant(self.median_us),
            "p10_us": significant(self.p10_us),
            "p90_us": significant(self.p90_us),
            "num_rounds": self.num_rounds,
            "chunk_means_us": [significant(value) for value in self.chunk_means_us],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Our times beside those of the rivals, all per `unit` of work.

    goal_us: what we set out to reach for the mean, where there is a goal.
    """

    unit: str
    ours: Times
    rivals: Mapping[str, Times]
    goal_us: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def ratio(self, rival: str) -> float:
        """Rival's time over ours: median over the chunks, each a pair run side by side."""
        theirs = np.array(self.rivals[rival].chunk_means_us)
        return float(np.median(theirs / np.array(self.ours.chunk_means_us)))

    @property
    def share_of_goal(self) -> float | None:
        """Our mean over the goal: at most 1 if it is reached."""
        return None if self.goal_us is None else self.ours.mean_us / self.goal_us

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        share = self.share_of_goal
        return {
            "unit": self.unit,
            "ours": self.ours.as_dict(),
            "rivals": {name: times.as_dict() for name, times in self.rivals.items()},
            "rival_over_ours": {name: significant(self.ratio(name)) for name in self.rivals},
            "goal_us": self.goal_us,
            "ours_over_goal": None if share is None else significant(share),
            "notes": dict(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """Our side of a race.

    prepare: untimed; its result is handed to run. run: one timed round.
    work_per_round: units of work in a round.
    """

    prepare: Callable[[], Any]
    run: Callable[[Any], Any]
    work_per_round: float = 1.0


def significant(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")


def race(
    benchmark: BenchmarkFixture,
    ours: Contestant,
    rivals: Mapping[str, Rival],
    *,
    num_chunks: int,
    rounds_per_chunk: int,
) -> tuple[Times, dict[str, Times]] | None:
    """Time our rounds with a chunk of every rival's rounds before each chunk of ours.

    Each contestant first runs one chunk for nothing. Mutates: fills `benchmark`.
    Returns None if timing is switched off (`--benchmark-disable`).
    """
    taken: dict[str, list[float]] = {name: [] for name in rivals}
    num_prepared = 0

    def prepare() -> tuple[tuple[Any], dict[str, Any]]:
        nonlocal num_prepared
        if num_prepared % rounds_per_chunk == 0:
            for name, rival in rivals.items():
                taken[name] += rival(rounds_per_chunk)
        num_prepared += 1
        return (ours.prepare(),), {}

    for rival in rivals.values():
        rival(rounds_per_chunk)
    for _ in range(rounds_per_chunk):
        ours.run(ours.prepare())
    benchmark.pedantic(ours.run, setup=prepare, rounds=num_chunks * rounds_per_chunk, iterations=1)
    if benchmark.stats is None:
        return None

    def sum_up(rounds_us: list[float]) -> Times:
        return Times.of(rounds_us, work_per_round=ours.work_per_round, num_chunks=num_chunks)

    our_rounds_us = [1e6 * duration_s for duration_s in benchmark.stats.stats.data]
    return sum_up(our_rounds_us), {name: sum_up(rounds) for name, rounds in taken.items()}
