"""F3 beside a real run: batch, queue and KV use, simulated over measured."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes

from experiments.report.frame import Frame, ResultsError, read_frame
from experiments.report.style import (
    MUTED,
    TOKEN_COLOUR,
    drawing_style,
    legend_below,
    new_figure,
    to_png,
)

PANELS = (
    ("running", "running\nrequests"),
    ("waiting", "waiting\nrequests"),
    ("kv_pct", "KV use\n(% of pool)"),
)


def draw_calibration(path: Path) -> bytes:
    """Draw calibration.csv as a PNG. Raises: ResultsError if there is nothing in it."""
    names = [f"{name}_{kind}" for name, _ in PANELS for kind in ("measured", "simulated")]
    series = read_frame(path, ("t_s", "is_fitted", *names))
    if series is None:
        raise ResultsError(f"{path.name} is missing or empty; rerun the experiment")
    with drawing_style():
        figure = new_figure(
            title="Simulated time against vLLM 0.19 on an RTX 4090",
            regime="Llama-3.1-8B, 300 ShareGPT conversations at 10 requests/s, 2,588 blocks of"
            " 16, token budget 2,048, prefix cache on. Step time fitted to the grey half.",
            height_in=6.0,
        )
        panels = figure.subplots(len(PANELS), 1, sharex=True)
        for axes, (name, label) in zip(panels, PANELS, strict=True):
            _draw_panel(axes, series, name)
            axes.set_ylabel(label)
        panels[-1].set_xlabel("time since the first arrival (s)")
        legend_below(figure, panels[0])
        return to_png(figure)


def _draw_panel(axes: Axes, series: Frame, name: str) -> None:
    times = series["t_s"]
    fitted_until_s = times[series["is_fitted"] > 0].max()
    axes.axvspan(0.0, fitted_until_s, color="#eef0f3", label="fitted", zorder=0)
    axes.plot(times, series[f"{name}_measured"], color=MUTED, linewidth=1.2, label="measured")
    axes.plot(
        times, series[f"{name}_simulated"], color=TOKEN_COLOUR, linewidth=1.5, label="simulated"
    )
    axes.set_ylim(0, None)
    axes.margins(x=0)
