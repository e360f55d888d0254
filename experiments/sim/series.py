"""Thin a run out for figures: curves over time and sizes of holes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.sim.record import CLASSES, Column, RunRecord
from experiments.sim.window import steady_window

MAX_POINTS = 800


def bin_means(edges_s: Column, starts_s: Column, values: Column, end_s: float) -> Column:
    """Exact time-weighted mean of a step function in each bin, [bins].

    values[i] holds on [starts_s[i], starts_s[i + 1]), the last one until end_s.
    """
    times = np.append(starts_s, end_s)
    integral = np.concatenate([[0.0], np.cumsum(values * np.diff(times))])
    # The integral of a step function is linear between steps, so interpolation is exact.
    return np.diff(np.interp(edges_s, times, integral)) / np.diff(edges_s)


def thin(record: RunRecord, *, max_points: int = MAX_POINTS) -> dict[str, Column]:
    """Average a run into at most max_points equal bins of time.

    Columns: t_s (middle of the bin), six class shares in %, running, waiting,
    preemptions (so far, at the end of the bin), external_fragmentation_index (only if
    measured).
    """
    steps = record.steps
    starts_s = steps["start_s"]
    end_s = float(starts_s[-1] + steps["duration_s"][-1])
    num_bins = min(max_points, len(starts_s))
    edges_s = np.linspace(starts_s[0], end_s, num_bins + 1)
    columns: dict[str, Column] = {"t_s": (edges_s[:-1] + edges_s[1:]) / 2}
    for name in CLASSES:
        share_pct = steps[name] * (100.0 / record.capacity_slots)
        columns[f"{name}_pct"] = bin_means(edges_s, starts_s, share_pct, end_s)
    for name in ("running", "waiting"):
        columns[name] = bin_means(edges_s, starts_s, steps[name], end_s)
    in_bin = np.histogram(starts_s, edges_s, weights=steps["preempted"])[0]
    columns["preemptions"] = np.cumsum(in_bin)
    if record.holes is not None:
        index, sampled_s = record.holes.index, starts_s[record.holes.step]
        columns["external_fragmentation_index"] = bin_means(edges_s, sampled_s, index, end_s)
    return columns


def hole_histogram(record: RunRecord, *, is_saturated: bool) -> Iterator[tuple[int, int, float]]:
    """Free runs of the steady window by size: [low, high) in slots, and their mean count.

    Bins are powers of two of the block size, ascending and without a gap.
    """
    if record.holes is None:
        return
    window = steady_window(record, is_saturated=is_saturated)
    weights = record.holes.weigh(np.where(window.has_step, record.steps["duration_s"], 0.0))
    mean_counts = np.average(record.holes.counts, axis=0, weights=weights)
    for exponent, count in enumerate(mean_counts.tolist()):
        low_slots = 2**exponent * record.block_size
        yield low_slots, 2 * low_slots, count
