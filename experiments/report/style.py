"""The look of every figure: sizes, fonts, legends, reproducible PNG bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import wrap
from typing import Any, TypedDict

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter

from experiments.report.arms import Arm

DPI = 140
WIDTH_IN = 10.0
HEADER_IN = 0.52
LINE_IN = 0.16
LINE_LENGTH = 142
NUM_MARKERS = 14
NO_VERSION: dict[str, Any] = {"Software": None}
INK = "#1b1f24"
MUTED = "#5b6470"
TOKEN_COLOUR = "#0072B2"
PREEMPTION_COLOUR = "#B3400A"

_RC = {
    "font.family": "DejaVu Sans",  # bundled with matplotlib: the same glyphs everywhere
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#9aa3ad",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e4e7eb",
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "figure.facecolor": "white",
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
}


class LineLook(TypedDict):
    """Keyword arguments of a line over time."""

    color: str
    marker: str
    markevery: int
    linewidth: float


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw in this look whatever the user's own matplotlib settings are."""
    with matplotlib.style.context(["default", _RC]):
        yield


def new_figure(*, title: str, regime: str, height_in: float) -> Figure:
    """Start a figure that says what it shows and under which regime (kept as its label)."""
    lines = [part for line in regime.splitlines() for part in wrap(line, LINE_LENGTH)]
    header_in = HEADER_IN + LINE_IN * len(lines)
    height_in += header_in
    body = ConstrainedLayoutEngine(rect=(0.0, 0.0, 1.0, 1.0 - header_in / height_in))
    figure = Figure(figsize=(WIDTH_IN, height_in), dpi=DPI, layout=body)
    figure.set_label(regime)
    left = 0.12 / WIDTH_IN
    figure.text(left, 1 - 0.12 / height_in, title, va="top", fontsize=13, fontweight="bold")
    figure.text(
        left,
        1 - 0.43 / height_in,
        "\n".join(lines),
        va="top",
        fontsize=9,
        color=MUTED,
        linespacing=1.25,
    )
    return figure


def to_png(figure: Figure) -> bytes:
    """Encode a figure; equal figures give equal bytes (no date, no version)."""
    # Figure.savefig draws a figure twice when it has a layout engine; once is enough
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[:, :, :3]
    buffer = io.BytesIO()
    imsave(buffer, pixels, format="png", dpi=DPI, metadata=NO_VERSION)
    return buffer.getvalue()


def legend_right(figure: Figure, source: Axes) -> None:
    """Put the legend of one panel to the right of all of them."""
    figure.legend(*source.get_legend_handles_labels(), loc="outside right center")


def legend_below(figure: Figure, *sources: Axes) -> None:
    """Put the entries of all panels, each once, in rows below them."""
    entries = {
        label: handle
        for source in sources
        for handle, label in zip(*source.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncol=len(entries),
        columnspacing=1.2,
        handlelength=1.3,
        handletextpad=0.5,
        fontsize=9,
    )


def line_look(arm: Arm, num_points: int) -> LineLook:
    """Tell noisy lines over time apart by colour and by sparse markers."""
    return {
        "color": arm.colour,
        "marker": arm.marker,
        "markevery": max(1, num_points // NUM_MARKERS),
        "linewidth": 1.3,
    }


def percent_ticks(axes: Axes, *, axis: str) -> None:
    """Label one axis from 0 to 100 %."""
    target = axes.xaxis if axis == "x" else axes.yaxis
    target.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    target.set_ticks([0, 20, 40, 60, 80, 100])
