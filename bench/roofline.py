"""Draw measured kernels under the roofline of their device.

    python -m bench.roofline RESULTS.json [--out ROOFLINE.png] [--device cuda]

Reads what `paged kernels bench --json`, `python -m bench.gpu` or `python -m bench.record` wrote.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#B3400A")
_PEER_COLOUR = "#8a939c"
_KERNEL_MARKER = "o"
_PEER_MARKERS = ("^", "s", "D", "v", "P", "X")
_DPI = 140

_Looks = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One kernel or peer on one workload."""

    op: str
    workload: str
    name: str
    is_peer: bool
    median_s: float
    num_bytes: int
    flops: int
    share: float
    bytes_over_minimum: float | None

    @property
    def row(self) -> str:
        """The workload with its operation."""
        return f"{self.op} {self.workload}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What is drawn: a device's measured limits and the points under them."""

    title: str
    bytes_per_s: float
    flops_per_s: float
    points: tuple[Point, ...]


def chart_of(document: Mapping[str, Any], device: str | None = None) -> Chart:
    """Return the chart of a results file: of a GPU if it has one, and no device is named.

    Raises: ValueError where the file has no timed kernel of that device.
    """
    results = _results(document)
    timed = [(hardware, row) for hardware, row in results if "median_s" in row]
    devices = {row["device"] for _, row in timed}
    wanted = device or ("cuda" if "cuda" in devices else "cpu")
    chosen = [(hardware, row) for hardware, row in timed if row["device"] == wanted]
    if not chosen:
        raise ValueError(f"expected timed kernels on {wanted}, found {sorted(devices) or 'none'}")
    hardware = chosen[0][0]
    # careful: a peer is stored beside every kernel that it was raced with
    points = {(row["op"], row["workload"], row["name"]): _point(row) for _, row in chosen}
    return Chart(
        title=str(hardware["name"]),
        bytes_per_s=hardware["copy_bytes_per_s"],
        flops_per_s=hardware["matmul_flops_per_s"],
        points=tuple(points.values()),
    )


def _results(document: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return each result's row with the hardware it was measured on."""
    if "results" in document:
        return [(document["hardware"], row) for row in document["results"]]
    notes = (each["notes"] for each in document["benchmarks"].values())
    return [(n["hardware"], row) for n in notes if "rows" in n for row in n["rows"]]


def _point(row: Mapping[str, Any]) -> Point:
    return Point(
        op=row["op"],
        workload=row["workload"],
        name=row["name"],
        is_peer=row["is_peer"],
        median_s=row["median_s"],
        num_bytes=row["bytes"],
        flops=row["flops"],
        share=row["share_of_roofline"],
        bytes_over_minimum=row.get("traffic", {}).get("bytes_over_minimum"),
    )


def draw(chart: Chart) -> Figure:
    """Return the figure: flops over intensity, shares of the limits, and bytes over minimum."""
    workloads = list(dict.fromkeys(point.row for point in chart.points))
    figure = Figure(figsize=(16, max(4.5, 1.8 + 0.24 * len(workloads))), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(5, 4, 3))
    looks = _looks(chart.points)
    _draw_roofline(left, chart, looks)
    _draw_shares(middle, chart.points, workloads, looks)
    _draw_bytes(right, chart.points, workloads, looks)
    handles = [Line2D([], [], linestyle="", label=name, **look) for name, look in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=8, frameon=False)
    figure.suptitle(chart.title)
    return figure


def _looks(points: Sequence[Point]) -> dict[str, dict[str, Any]]:
    """Return colour and marker of each name: kernels in colour, peers hollow and grey."""
    kernels = list(dict.fromkeys(p.name for p in points if not p.is_peer))
    peers = list(dict.fromkeys(p.name for p in points if p.is_peer))
    looks: dict[str, dict[str, Any]] = {
        name: {"marker": _KERNEL_MARKER, "color": _COLOURS[i % len(_COLOURS)]}
        for i, name in enumerate(kernels)
    }
    for i, name in enumerate(peers):
        marker = _PEER_MARKERS[i % len(_PEER_MARKERS)]
        looks[name] = {"marker": marker, "color": _PEER_COLOUR, "markerfacecolor": "none"}
    return looks


def _draw_roofline(axes: Axes, chart: Chart, looks: _Looks) -> None:
    computing = [point for point in chart.points if point.flops > 0]
    ridge = chart.flops_per_s / chart.bytes_per_s
    intensities = [point.flops / point.num_bytes for point in computing]
    spread = np.geomspace(min([ridge, *intensities]) / 4, max([ridge, *intensities]) * 4, 100)
    roof = np.minimum(spread * chart.bytes_per_s, chart.flops_per_s)
    axes.loglog(spread, roof, color="#1b1f24", linewidth=1.5)
    for point, intensity in zip(computing, intensities, strict=True):
        look = looks[point.name]
        axes.plot(intensity, point.flops / point.median_s, linestyle="", alpha=0.85, **look)
    axes.set_xlabel("least flops per byte")
    axes.set_ylabel("flops per second")
    axes.set_title(
        f"{chart.bytes_per_s / 1e9:.4g} GB/s copied, {chart.flops_per_s / 1e12:.3g} TFLOP/s "
        "multiplied, both measured",
        fontsize=9,
        loc="left",
    )
    axes.grid(visible=True, which="major", color="#e4e7eb")


def _draw_shares(
    axes: Axes, points: Sequence[Point], workloads: Sequence[str], looks: _Looks
) -> None:
    shares = [(point, 100 * point.share) for point in points]
    _draw_rows(axes, shares, workloads, looks)
    axes.set_yticks(range(len(workloads)), list(reversed(workloads)), fontsize=8)
    if any(point.share < 0.02 for point in points):
        axes.set_xscale("log")
    axes.set_xlabel("least time on this hardware, in % of the measured time")
    axes.axvline(100, color="#1b1f24", linewidth=1.5)


def _draw_bytes(
    axes: Axes, points: Sequence[Point], workloads: Sequence[str], looks: _Looks
) -> None:
    counted = [(p, p.bytes_over_minimum) for p in points if p.bytes_over_minimum is not None]
    _draw_rows(axes, counted, workloads, looks)
    axes.set_yticks(range(len(workloads)), [])
    axes.set_xscale("log")
    axes.set_xlabel("bytes over minimum, counted")
    axes.axvline(1, color="#1b1f24", linewidth=1.5)


def _draw_rows(
    axes: Axes,
    values: Sequence[tuple[Point, float]],
    workloads: Sequence[str],
    looks: _Looks,
) -> None:
    for point, value in values:
        height = len(workloads) - 1 - workloads.index(point.row)
        axes.plot(value, height, linestyle="", alpha=0.85, **looks[point.name])
    axes.set_ylim(-0.7, len(workloads) - 0.3)
    axes.grid(visible=True, axis="both", color="#e4e7eb")
    axes.set_axisbelow(True)


def main(arguments: list[str] | None = None) -> int:
    """Read results, write the picture; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.roofline", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, help="beside the results by default")
    parser.add_argument("--device", choices=("cpu", "cuda"))
    options = parser.parse_args(arguments)
    target = options.out or options.results.with_suffix(".png")
    try:
        chart = chart_of(json.loads(options.results.read_text()), options.device)
    except (OSError, ValueError) as error:
        print(f"roofline: {error}", file=sys.stderr)
        return 2
    draw(chart).savefig(target, dpi=_DPI)
    print(f"wrote {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
