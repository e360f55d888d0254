"""Measurements as text."""

from __future__ import annotations

from paged.kernel.measure.bandwidth import Hardware
from paged.kernel.measure.measurement import Measurement, Result

_CLOCK_MARKS = {"graph": "", "stream": " (s)", "host": " (h)"}

LEGEND = (
    "of limit: least time on the measured hardware over the time; (x N): the peer takes N times "
    "the kernel's time, middle of interleaved rounds"
)
BYTES_LEGEND = (
    "bytes over minimum: 32-byte sectors that warps ask for, over the least bytes, counted in the "
    "interpreter; ~: on a smaller call of the same shape"
)
CLOCK_LEGEND = "in CUDA graphs with cold L2; (s): launched one by one; (h): timed by the host"


def hardware_line(hardware: Hardware) -> str:
    """Say what was measured of the device."""
    roofline = hardware.roofline
    return (
        f"{hardware.name}: copies {roofline.bytes_per_s / 1e9:.4g} GB/s (read and written), "
        f"multiplies {roofline.flops_per_s / 1e12:.3g} TFLOP/s, measured"
    )


def table(measurement: Measurement) -> list[str]:
    """Lay a measurement out: a head line, then a row for each kernel and peer."""
    work = measurement.work
    bound = "flops" if measurement.is_compute_bound else "bytes"
    head = (
        f"{measurement.op} {measurement.workload}: least {work.bytes / 1e6:.4g} MB, "
        f"{work.flops / 1e9:.4g} GFLOP; limit {1e6 * measurement.floor_s:.4g} us, by {bound}"
    )
    timed = [r for r in measurement.results if r.timing is not None]
    peers = list(measurement.timed_peers)
    headings = ["", "us", "GB/s", "TFLOP/s", "of limit", "bytes over minimum", *peers]
    rows = [headings, *(_row(measurement, result, peers) for result in timed)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(headings))]
    lines = [
        "  " + row[0].ljust(widths[0]) + "".join(
            f"  {cell.rjust(width)}" for cell, width in zip(row[1:], widths[1:], strict=True)
        )
        for row in rows
    ]  # fmt: skip
    return [head, *(line.rstrip() for line in lines), *_left_out(measurement)]


def _row(measurement: Measurement, result: Result, peers: list[str]) -> list[str]:
    timing = result.timing
    assert timing is not None, "only timed results have a row"
    own = not result.is_peer
    ratios = [f"(x {measurement.timed_peers[p].times(timing):.3g})" if own else "" for p in peers]
    is_on_gpu = measurement.hardware.l2_bytes is not None
    return [
        result.name + (_CLOCK_MARKS[timing.clock] if is_on_gpu else ""),
        f"{1e6 * timing.median_s:.4g}",
        f"{measurement.work.bytes / timing.median_s / 1e9:.4g}",
        f"{measurement.work.flops / timing.median_s / 1e12:.3g}",
        f"{100 * measurement.floor_s / timing.median_s:.3g} %",
        "" if result.counted is None else result.counted.text,
        *ratios,
    ]


def _left_out(measurement: Measurement) -> list[str]:
    lines: list[str] = []
    for result in measurement.results:
        if result.fault is not None:
            lines.append(f"  {result.name}: WRONG, not timed: {result.fault}")
        elif result.why_not is not None:
            lines.append(f"  {result.name}: left out: {result.why_not}")
        elif result.counted is not None and result.counted.why_not is not None:
            lines.append(f"  {result.name}: bytes not counted: {result.counted.why_not}")
    return lines
