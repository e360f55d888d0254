"""When requests arrive."""

from __future__ import annotations

import math

import numpy as np

from experiments.workload.errors import WorkloadError, require
from experiments.workload.streams import Stream, make_stream
from experiments.workload.workload import FloatArray, Workload

ARRIVALS = ("saturated", "trace", "poisson")
"""Names that make_arrivals knows."""


def make_arrivals(
    name: str, workload: Workload, *, seed: int, rate_per_s: float | None = None
) -> FloatArray:
    """Return the arrival times of a workload's requests by the name of the process.

    Timestamps on a coarse grid are spread over their tick (see from_trace).

    Raises: WorkloadError for an unknown name, poisson without a rate, or trace without
        timestamps.
    """
    if name == "saturated":
        return saturated(workload)
    if name == "trace":
        return from_trace(workload, seed=seed)
    require(name == "poisson", f"arrivals must be one of {', '.join(ARRIVALS)}, got {name!r}")
    if rate_per_s is None:
        raise WorkloadError("poisson arrivals need a rate in requests per second")
    return poisson(workload, rate_per_s=rate_per_s, seed=seed)


def saturated(workload: Workload) -> FloatArray:
    """Let all requests arrive at 0, so that the queue is never empty."""
    return np.zeros(len(workload))


def poisson(workload: Workload, *, rate_per_s: float, seed: int) -> FloatArray:
    """Draw a Poisson process of rate_per_s requests per second.

    Equal seeds give the same process at every rate, stretched.
    """
    require(
        rate_per_s > 0 and math.isfinite(rate_per_s),
        f"rate must be above 0 requests per second, got {rate_per_s}",
    )
    gaps = make_stream(seed, Stream.ARRIVALS).exponential(size=len(workload))
    return np.cumsum(gaps) / rate_per_s


def from_trace(workload: Workload, *, seed: int) -> FloatArray:
    """Return the source's own timestamps, from the first arrival.

    If they lie on a coarse grid each is moved within its tick: a grid is how a trace
    was anonymised, and read literally it looks like bursts.

    Raises: WorkloadError if the source has no timestamps.
    """
    if workload.arrival_s is None:
        raise WorkloadError(
            f"{workload.name} records no timestamps; use saturated or poisson arrivals"
        )
    tick_s = arrival_tick_s(workload.arrival_s)
    if tick_s is None:
        return workload.arrival_s - workload.arrival_s.min()
    return spread_ticks(workload.arrival_s, tick_s=tick_s, seed=seed)


def arrival_tick_s(arrival_s: FloatArray) -> float | None:
    """Length of the grid that arrivals lie on, or None if they lie on none.

    A grid is assumed where requests share their instant with another one on average.
    """
    instants = np.unique(arrival_s)
    if len(instants) < 2 or 2 * len(instants) > len(arrival_s):
        return None
    return float(np.median(np.diff(instants)))


def spread_ticks(arrival_s: FloatArray, *, tick_s: float, seed: int) -> FloatArray:
    """Move each arrival uniformly within the tick it starts, and count from the first."""
    shift_s = make_stream(seed, Stream.ARRIVALS).uniform(0.0, tick_s, size=len(arrival_s))
    spread = arrival_s + shift_s
    return spread - spread.min()
