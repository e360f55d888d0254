"""The picture of a load on a server, drawn from the CSV files of `paged bench serve`."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.report.style import drawing_style, new_figure, to_png

_DISTRIBUTIONS = (
    ("requests.csv", "ttft_s", "time to first token"),
    ("gaps.csv", "gap_s", "inter-token latency"),
    ("requests.csv", "normalized_s", "end to end per token"),
)
_COLOUR = "#0072B2"
_MS = 1e3


def draw_load(folder: Path, *, title: str, regime: str) -> Path:
    """Draw load.png from the CSV files of a folder, and return its path."""
    with drawing_style():
        figure = new_figure(title=title, regime=regime, height_in=5.6)
        _draw(figure, folder)
        path = folder / "load.png"
        path.write_bytes(to_png(figure))
    return path


def _draw(figure: Figure, folder: Path) -> None:
    grid = figure.add_gridspec(2, len(_DISTRIBUTIONS))
    for column, (name, value, label) in enumerate(_DISTRIBUTIONS):
        axes = figure.add_subplot(grid[0, column])
        _draw_distribution(axes, _column(folder / name, value), label)
    _draw_time(figure.add_subplot(grid[1, :]), folder / "requests.csv")


def _draw_distribution(axes: Axes, values: list[float | None], label: str) -> None:
    """Draw the share of values that are at most so large."""
    known = np.sort([value for value in values if value is not None]) * _MS
    axes.step(known, np.arange(1, len(known) + 1) / max(1, len(known)) * 100, color=_COLOUR)
    axes.set_title(label)
    axes.set_xlabel("ms")
    axes.set_ylabel("at most (%)")
    axes.set_ylim(0, 101)
    axes.set_xlim(left=0)


def _draw_time(axes: Axes, path: Path) -> None:
    """Draw the time to first token of each request over when it was due or sent."""
    due, sent = _column(path, "due_s"), _column(path, "sent_s")
    starts = [b if a is None else a for a, b in zip(due, sent, strict=True)]
    found = [
        (start, ttft * _MS)
        for start, ttft in zip(starts, _column(path, "ttft_s"), strict=True)
        if start is not None and ttft is not None
    ]
    axes.plot(*np.array(found).reshape(-1, 2).T, ".", color=_COLOUR)
    axes.set_title("time to first token over the run")
    axes.set_xlabel("arrival (s)")
    axes.set_ylabel("ms")
    axes.set_ylim(bottom=0)


def _column(path: Path, name: str) -> list[float | None]:
    """Read a column of numbers; None for empty cells."""
    with path.open(encoding="utf-8", newline="") as file:
        return [float(row[name]) if row[name] else None for row in csv.DictReader(file)]
