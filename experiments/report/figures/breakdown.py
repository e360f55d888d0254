"""F1: where the slots of the pool go, one stacked bar per allocator."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from experiments.report.arms import Arm, in_order
from experiments.report.regime import regime
from experiments.report.results import Results
from experiments.report.slot_classes import SLOT_CLASSES
from experiments.report.style import MUTED, legend_below, new_figure, percent_ticks

BAR_HEIGHT = 0.62
# a share below this is too narrow for a number inside its patch
MIN_LABELLED_PCT = 4.5
PAPER_LABEL = "paper, Figure 2: end of class"


def draw_breakdown(results: Results) -> Figure:
    """Draw mean shares over seeds, their spread, and the paper's class ends."""
    arms = {name: _arms(results, name) for name in results.workloads()}
    num_bars = sum(len(group) for group in arms.values())
    figure = new_figure(
        title="Where the KV pool goes",
        regime=regime(results, results.fragmentation),
        height_in=1.45 + 0.6 * num_bars + 0.4 * (len(arms) - 1),
    )
    ratios = [len(group) for group in arms.values()]
    panels = figure.subplots(len(arms), 1, squeeze=False, sharex=True, height_ratios=ratios)
    for panel, (workload, group) in zip(panels[:, 0], arms.items(), strict=True):
        _draw_panel(panel, results, workload, group)
    panels[-1, 0].set_xlabel("share of the KV pool (%)")
    if len(arms) > 1:
        for panel, workload in zip(panels[:, 0], arms, strict=True):
            panel.set_ylabel(workload)
    legend_below(figure, *panels[:, 0])
    return figure


def _arms(results: Results, workload: str) -> list[Arm]:
    return in_order(results.fragmentation.where(workload=workload).names("allocator"))


def _draw_panel(axes: Axes, results: Results, workload: str, arms: list[Arm]) -> None:
    positions = np.arange(len(arms))
    left = np.zeros(len(arms))
    for one in SLOT_CLASSES:
        found = [results.estimate(workload, arm.name, one.column) for arm in arms]
        width = np.array([estimate.mean for estimate in found])
        spread = np.array([estimate.std or 0.0 for estimate in found])
        axes.barh(
            positions,
            width,
            BAR_HEIGHT,
            left,
            color=one.colour,
            ec="white",
            lw=0.8,
            label=one.label,
        )
        left += width
        if one is not SLOT_CLASSES[-1]:
            _draw_spread(axes, left, positions, spread)
        for y, (share, end) in enumerate(zip(width, left, strict=True)):
            if share >= MIN_LABELLED_PCT:
                centre = end - share / 2
                axes.text(centre, y, f"{share:.1f}", ha="center", va="center", color=one.ink)
    _draw_paper(axes, results, workload, arms)
    _write_margin(axes, results, workload, arms)
    axes.set_yticks(positions, [arm.tick_label for arm in arms])
    axes.set(xlim=(0, 100), ylim=(len(arms) - 0.5, -0.5))
    axes.grid(visible=False, axis="y")
    percent_ticks(axes, axis="x")


def _draw_spread(axes: Axes, ends: np.ndarray, positions: np.ndarray, spread: np.ndarray) -> None:
    shown = spread > 0
    axes.errorbar(
        ends[shown],
        positions[shown] + 0.2,
        xerr=spread[shown],
        fmt="none",
        ecolor="#111111",
        elinewidth=1.1,
        capsize=2.2,
        capthick=1.1,
        zorder=4,
    )


def _draw_paper(axes: Axes, results: Results, workload: str, arms: list[Arm]) -> None:
    """Tick the end of each class that the paper prints, where the set-up is the paper's."""
    rows = [results.paper_row(workload, arm.name) for arm in arms]
    ticks = [(end, y) for y, row in enumerate(rows) if row for end in row.boundaries_pct()]
    if not ticks:
        return
    ends, positions = np.array(ticks).T
    axes.plot(
        ends,
        positions - BAR_HEIGHT / 2,
        linestyle="none",
        marker="|",
        markersize=15,
        markeredgewidth=2.4,
        color="#111111",
        zorder=5,
        clip_on=False,
        label=PAPER_LABEL,
        path_effects=[withStroke(linewidth=4.6, foreground="white")],
    )


def _write_margin(axes: Axes, results: Results, workload: str, arms: list[Arm]) -> None:
    """Write beside each bar what its utilisation was worth and what it was bought with."""
    columns = (
        (1.075, "mean\nbatch", "mean_batch", 1),
        (1.19, "preemptions /\ncompletion", "preemptions_per_completion", 2),
    )
    transform = axes.get_yaxis_transform()
    for x, header, column, decimals in columns:
        axes.text(
            x,
            1.01,
            header,
            transform=axes.transAxes,
            ha="center",
            va="bottom",
            fontsize=9,
            color=MUTED,
        )
        for y, arm in enumerate(arms):
            text = results.estimate(workload, arm.name, column).mean_text(decimals)
            axes.text(x, y, text, transform=transform, ha="center", va="center")
