"""F12: how the free space of contiguous allocators falls to pieces."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.report.arms import Arm, in_order
from experiments.report.frame import Frame
from experiments.report.regime import series_regime
from experiments.report.results import Results
from experiments.report.style import legend_right, line_look, new_figure

INDEX_COLUMN = "external_fragmentation_index"

# The index jumps with each arrival: lines of several arms would hide one another.
_WINDOW_SHARE = 0.05


def draw_holes(results: Results) -> Figure | None:
    """Draw the external fragmentation index over time and the free runs by length."""
    series, holes = results.timeseries, results.holes
    index_arms = [] if series is None else _contiguous(series)
    holes_arms = [] if holes is None else _contiguous(holes)
    arms = in_order(arm.name for arm in (*index_arms, *holes_arms))
    if not arms:
        return None
    figure = new_figure(
        title="External fragmentation of contiguous allocators",
        regime=series_regime(results),
        height_in=5.6,
    )
    index_axes, run_axes = figure.subplots(2, 1)
    for arm in arms:
        if series is not None and arm in index_arms:
            _draw_index(index_axes, arm, series.where(allocator=arm.name))
    if holes is not None:
        _draw_runs(run_axes, holes_arms, holes)
    index_axes.set(
        ylabel="1 - largest free run / total free\n(bold: mean over 5 % of the run)",
        ylim=(-0.02, 1.02),
    )
    index_axes.set_xlabel("simulated time (s)")
    index_axes.margins(x=0)
    index_axes.set_xlim(left=0)
    run_axes.set(ylabel="free runs in the pool\n(mean count)", ylim=(0, None))
    run_axes.set_xlabel("free run of at least this many slots, and fewer than twice as many")
    legend_right(figure, index_axes if index_arms else run_axes)
    return figure


def _contiguous(frame: Frame) -> list[Arm]:
    return [arm for arm in in_order(frame.names("allocator")) if arm.is_contiguous]


def _draw_index(axes: Axes, arm: Arm, series: Frame) -> None:
    if INDEX_COLUMN not in series:
        return
    times_s, values = series["t_s"], series[INDEX_COLUMN]
    axes.plot(times_s, values, color=arm.colour, lw=0.6, alpha=0.3)
    smooth = running_mean(times_s, values, window_s=_WINDOW_SHARE * float(np.ptp(times_s)))
    axes.plot(times_s, smooth, label=arm.tick_label, **line_look(arm, len(series)))


def running_mean(
    times_s: NDArray[np.float64], values: NDArray[np.float64], *, window_s: float
) -> NDArray[np.float64]:
    """Return the mean over a window around each time, by time; shorter at both ends.

    times_s: rising; values: each holds until the next time.
    """
    if not window_s > 0:
        return values
    sums = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(times_s))))
    first = np.maximum(times_s - window_s / 2, times_s[0])
    last = np.minimum(times_s + window_s / 2, times_s[-1])
    return (np.interp(last, times_s, sums) - np.interp(first, times_s, sums)) / (last - first)


def _draw_runs(axes: Axes, arms: list[Arm], holes: Frame) -> None:
    """Draw one group of bars per length bin, a bar per allocator; empty bins are left out."""
    bins = [low for low, own in holes.by_value("run_slots_low") if own["mean_count"].any()]
    places = {low: place for place, low in enumerate(bins)}
    width = 0.84 / max(1, len(arms))
    for index, arm in enumerate(arms):
        own = holes.where(allocator=arm.name)
        own = own.select(np.isin(own["run_slots_low"], bins))
        shift = (index - (len(arms) - 1) / 2) * width
        centres = [places[low] + shift for low in own["run_slots_low"].tolist()]
        axes.bar(
            centres,
            own["mean_count"],
            width,
            color=arm.colour,
            ec="white",
            lw=0.5,
            label=arm.tick_label,
        )
    axes.set_xticks(list(places.values()), [f"{low:,.0f}" for low in bins], fontsize=9)
    axes.grid(visible=False, axis="x")
