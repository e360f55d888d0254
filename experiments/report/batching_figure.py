"""Throughput beside its prediction, where the time went, and the batch over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from experiments.report.arms import Arm, in_order
from experiments.report.estimate import estimate
from experiments.report.frame import Frame, ResultsError, read_frame
from experiments.report.style import (
    INK,
    TOKEN_COLOUR,
    drawing_style,
    line_look,
    new_figure,
    to_png,
)

PARTS = (
    ("work_pct", "work", TOKEN_COLOUR),
    ("padding_pct", "padding", "#CC79A7"),
    ("idle_pct", "idle rows", "#E69F00"),
    ("no_model_pct", "no model", "#9aa3ad"),
)
STEP_COLUMNS = ("allocator", "seed", "step", "seqs", "step_s")
BAR_HEIGHT = 0.62


def draw_batching(directory: Path, *, regime: str) -> bytes:
    """Draw batching.csv and steps.csv as a PNG. Raises: ResultsError where one is missing."""
    frame = read_frame(directory / "batching.csv", ("allocator", "tokens_per_s"))
    steps = read_frame(directory / "steps.csv", STEP_COLUMNS)
    if frame is None or steps is None:
        raise ResultsError("batching.csv or steps.csv is missing or empty; rerun the experiment")
    arms = in_order(frame.names("allocator"))
    with drawing_style():
        figure = new_figure(
            title="Batching on a real model", regime=regime, height_in=3.3 + 0.8 * len(arms)
        )
        grid = figure.add_gridspec(2, 2, height_ratios=[0.8 * len(arms), 2.6])
        rates = figure.add_subplot(grid[0, 0])
        shares = figure.add_subplot(grid[0, 1], sharey=rates)
        _draw_rates(rates, frame, arms)
        _draw_shares(shares, frame, arms)
        _draw_batches(figure.add_subplot(grid[1, :]), steps, arms)
        return to_png(figure)


def _draw_rates(axes: Axes, frame: Frame, arms: list[Arm]) -> None:
    positions = np.arange(len(arms))
    measured, predicted = (
        [estimate(frame.where(allocator=arm.name)[column]).mean for arm in arms]
        for column in ("scored_tokens_per_s", "predicted_tokens_per_s")
    )
    axes.barh(positions, measured, BAR_HEIGHT, color=[arm.colour for arm in arms])
    axes.plot(predicted, positions, "|", color=INK, ms=22, mew=2.5, label="simulated")
    axes.set_yticks(positions, [arm.tick_label for arm in arms])
    axes.set_xlim(0, 1.12 * max(*measured, *predicted))
    axes.set_xlabel("output tokens/s")
    axes.legend(loc="lower right")


def _draw_shares(axes: Axes, frame: Frame, arms: list[Arm]) -> None:
    positions, left = np.arange(len(arms)), np.zeros(len(arms))
    for column, label, colour in PARTS:
        width = np.array([estimate(frame.where(allocator=arm.name)[column]).mean for arm in arms])
        axes.barh(positions, width, BAR_HEIGHT, left, color=colour, ec="white", label=label)
        left += width
    axes.tick_params(labelleft=False)
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the time (%)")
    axes.legend(loc="lower left", ncol=len(PARTS), bbox_to_anchor=(0.0, 1.0))


def _draw_batches(axes: Axes, steps: Frame, arms: list[Arm]) -> None:
    """Draw the batch of the first seed over measured time."""
    first = steps.select(steps["seed"] == steps["seed"][0])
    for arm in arms:
        own = first.where(allocator=arm.name)
        axes.step(np.cumsum(own["step_s"]), own["seqs"], label=arm.name, **line_look(arm, len(own)))
    axes.set_xlabel("time (s)")
    axes.set_ylabel("sequences\nin a step")
    axes.set_ylim(0, None)
    axes.margins(x=0)
    axes.legend(loc="lower left", ncol=len(arms), bbox_to_anchor=(0.0, 1.0))
