"""F2 and F3: the pool, the batch and the preemptions over time."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from experiments.report.arms import Arm, in_order
from experiments.report.frame import Frame
from experiments.report.regime import series_regime
from experiments.report.results import Results
from experiments.report.slot_classes import SLOT_CLASSES
from experiments.report.style import (
    INK,
    legend_below,
    legend_right,
    line_look,
    new_figure,
    percent_ticks,
)

NUM_COLUMNS = 2


def draw_utilisation(results: Results) -> Figure | None:
    """Draw the slot classes over time, one panel per allocator."""
    series = results.timeseries
    if series is None:
        return None
    arms = in_order(series.names("allocator"))
    num_columns = min(NUM_COLUMNS, len(arms))
    num_rows = -(-len(arms) // num_columns)
    figure = new_figure(
        title="KV utilisation over time",
        regime=series_regime(results),
        height_in=1.0 + 2.0 * num_rows,
    )
    panels = figure.subplots(num_rows, num_columns, squeeze=False, sharex=True, sharey=True)
    for panel, arm in zip_longest(panels.flat, arms):
        if arm is None:
            panel.set_axis_off()
        else:
            _draw_classes(panel, arm, series.where(allocator=arm.name))
            _mark_window(panel, results, arm)
    for panel in panels[:, 0]:
        panel.set_ylabel("share of pool (%)")
    for panel in panels[-1]:
        panel.set_xlabel("simulated time (s)")
    _show_time_labels(panels, len(arms))
    legend_below(figure, panels[0, 0])
    return figure


def _show_time_labels(panels: np.ndarray, num_arms: int) -> None:
    """Label the time axis of a panel that has none below it."""
    num_columns = panels.shape[1]
    if num_arms % num_columns:
        last = panels[-2, -1] if len(panels) > 1 else panels[-1, 0]
        last.set_xlabel("simulated time (s)")
        last.tick_params(labelbottom=True)


def _draw_classes(axes: Axes, arm: Arm, series: Frame) -> None:
    times = series["t_s"]
    axes.stackplot(
        times,
        [series[one.column] for one in SLOT_CLASSES],
        colors=[one.colour for one in SLOT_CLASSES],
        labels=[one.label for one in SLOT_CLASSES],
        linewidth=0,
    )
    _mark_saturation(axes, times, series["waiting"] > 0)
    axes.set_title(arm.label, fontsize=10, pad=10)
    axes.margins(x=0)
    axes.set(ylim=(0, 100))
    axes.set_xlim(left=0)
    axes.grid(visible=False)
    percent_ticks(axes, axis="y")


def _mark_saturation(axes: Axes, times: np.ndarray, is_saturated: np.ndarray) -> None:
    """Draw a bar above the panel wherever requests wait."""
    axes.fill_between(
        times,
        101.0,
        104.5,
        where=is_saturated,
        step="mid",
        color=INK,
        linewidth=0,
        clip_on=False,
        label="requests waiting",
    )


def _mark_window(axes: Axes, results: Results, arm: Arm) -> None:
    """Draw the ends of the measured window of the first seed, where they are recorded."""
    rows = results.fragmentation.where(allocator=arm.name)
    if "window_start_s" not in rows or len(rows) == 0:
        return
    label = "measured window"
    for end_s in (rows["window_start_s"][0], rows["window_end_s"][0]):
        axes.axvline(end_s, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label=label)
        label = None


def draw_batch(results: Results) -> Figure | None:
    """Draw running requests and cumulative preemptions over time, a line per allocator."""
    series = results.timeseries
    if series is None:
        return None
    figure = new_figure(
        title="Batch size and preemptions over time",
        regime=series_regime(results),
        height_in=5.0,
    )
    running, preemptions = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    for arm in in_order(series.names("allocator")):
        own = series.where(allocator=arm.name)
        look = line_look(arm, len(own))
        running.plot(own["t_s"], own["running"], label=arm.tick_label, **look)
        preemptions.plot(own["t_s"], own["preemptions"], **look)
    running.set(ylabel="running requests", ylim=(0, None))
    preemptions.set(ylabel="preemptions\n(cumulative)", ylim=(0, None))
    preemptions.set_xlabel("simulated time (s)")
    preemptions.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    preemptions.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    running.margins(x=0)
    running.set_xlim(left=0)
    legend_right(figure, running)
    return figure
