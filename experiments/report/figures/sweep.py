"""F5 and F13: token share, and the preemptions it costs, over a swept setting."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from experiments.report.arms import Arm, in_order
from experiments.report.estimate import Estimate, estimate
from experiments.report.frame import Frame
from experiments.report.regime import regime
from experiments.report.results import Results
from experiments.report.style import (
    PREEMPTION_COLOUR,
    TOKEN_COLOUR,
    legend_below,
    new_figure,
)


class CurveLook(TypedDict):
    """Keyword arguments of a curve with error bars."""

    label: str
    color: str
    linestyle: str
    marker: str
    markerfacecolor: str


def draw_block_size(results: Results) -> Figure | None:
    """Draw token share and preemptions against the block size."""
    frame = results.block_size
    if frame is None:
        return None
    figure = new_figure(
        title="Token share and preemptions by block size",
        regime=regime(results, frame),
        height_in=4.9,
    )
    share, preemptions = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    for arm in in_order(frame.names("allocator")):
        own = frame.where(allocator=arm.name)
        look = CurveLook(
            label=arm.tick_label,
            color=arm.colour,
            linestyle=arm.line,
            marker=arm.marker,
            markerfacecolor=arm.colour,
        )
        _draw_curve(share, own, ("block_size", "token_pct"), look)
        _draw_curve(preemptions, own, ("block_size", "preemptions_per_completion"), look)
        _label_points(share, own, ("block_size", "token_pct"))
    share.set_ylabel("token states (% of pool)")
    share.margins(y=0.18)
    preemptions.set(ylabel="preemptions /\ncompletion", ylim=(0, None))
    preemptions.set_xlabel("block size (slots, log scale)")
    _tick_powers(preemptions, np.unique(frame["block_size"]).tolist())
    legend_below(figure, share)
    return figure


def draw_watermark(results: Results) -> Figure | None:
    """Draw token share against the watermark with preemptions on a twin axis."""
    if results.watermark is None:
        return None
    frame = _with_percent(results.watermark)
    figure = new_figure(
        title="Token share by watermark, and its price in preemptions",
        regime=regime(results, frame),
        height_in=4.1,
    )
    share = figure.subplots()
    preemptions = share.twinx()
    for arm in in_order(frame.names("allocator")):
        _draw_twins(share, preemptions, arm, frame.where(allocator=arm.name))
    share.set_xlabel("watermark (% of blocks kept free when a request is admitted)")
    share.set_ylabel("token states (% of pool)", color=TOKEN_COLOUR)
    share.margins(y=0.18)
    preemptions.set_ylabel("preemptions / completion", color=PREEMPTION_COLOUR)
    # headroom keeps this curve below the labels of the other
    preemptions.set_ylim(0, max(preemptions.get_ylim()[1] * 1.5, 0.1))
    preemptions.grid(visible=False)
    legend_below(figure, share, preemptions)
    return figure


def _draw_twins(share: Axes, preemptions: Axes, arm: Arm, frame: Frame) -> None:
    left = CurveLook(
        label=f"{arm.name}: token states (left)",
        color=TOKEN_COLOUR,
        linestyle="-",
        marker=arm.marker,
        markerfacecolor=TOKEN_COLOUR,
    )
    right = CurveLook(
        label=f"{arm.name}: preemptions (right)",
        color=PREEMPTION_COLOUR,
        linestyle="--",
        marker=arm.marker,
        markerfacecolor="white",
    )
    _draw_curve(share, frame, ("watermark_pct", "token_pct"), left)
    _draw_curve(preemptions, frame, ("watermark_pct", "preemptions_per_completion"), right)
    _label_points(share, frame, ("watermark_pct", "token_pct"))


def _with_percent(frame: Frame) -> Frame:
    numbers = {**frame.numbers, "watermark_pct": frame["watermark"] * 100.0}
    return Frame(name=frame.name, labels=frame.labels, numbers=numbers)


def _curve(frame: Frame, columns: tuple[str, str]) -> list[tuple[float, Estimate]]:
    x, y = columns
    return [(value, estimate(own[y])) for value, own in frame.by_value(x)]


def _draw_curve(axes: Axes, frame: Frame, columns: tuple[str, str], look: CurveLook) -> None:
    points = _curve(frame, columns)
    values = [value for value, _ in points]
    means = [found.mean for _, found in points]
    spread = [found.std or 0.0 for _, found in points]
    axes.errorbar(values, means, yerr=spread, capsize=3, elinewidth=1.1, **look)


def _label_points(axes: Axes, frame: Frame, columns: tuple[str, str]) -> None:
    for value, found in _curve(frame, columns):
        axes.annotate(
            found.mean_text(),
            (value, found.mean),
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            zorder=6,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )


def _tick_powers(axes: Axes, sizes: list[float]) -> None:
    """Space block sizes evenly by power of two and label each one."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
