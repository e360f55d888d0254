"""The table says what was timed, what was wrong and what was left out."""

from __future__ import annotations

from dataclasses import replace

import torch

from paged.kernel.measure.counted import Counted
from paged.kernel.measure.measurement import Measurement, Result
from paged.kernel.measure.table import hardware_line, table
from paged.kernel.measure.timing import Timing
from paged.kernel.traffic import Traffic
from paged.kernel.work import Work
from tests.helpers.measured import HARDWARE

MEASURED = Measurement(
    op="attention",
    workload="b8",
    hardware=HARDWARE,
    work=Work(bytes=1_000_000, flops=2_000_000),
    results=(
        Result(
            name="v1",
            is_peer=False,
            timing=Timing(rounds_s=(4e-3,) * 3, clock="graph"),
            counted=Counted(traffic=Traffic(operands=(), least_bytes=1), is_smaller=True),
        ),
        Result(name="bad", is_peer=False, fault="out[0] is 7"),
        Result(name="sdpa", is_peer=True, timing=Timing(rounds_s=(2e-3,) * 3, clock="host")),
        Result(name="pallas", is_peer=True, why_not="JAX is not installed"),
    ),
)


def test_rows_have_times_shares_and_ratios() -> None:
    head, headings, ours, peer, wrong, left_out = table(MEASURED)
    assert head == "attention b8: least 1 MB, 0.002 GFLOP; limit 1000 us, by bytes"
    assert headings.split() == [
        "us",
        "GB/s",
        "TFLOP/s",
        "of",
        "limit",
        "bytes",
        "over",
        "minimum",
        "sdpa",
    ]
    assert ours.split() == ["v1", "4000", "0.25", "0.0005", "25", "%", "~0", "(x", "0.5)"]
    assert peer.split() == ["sdpa", "2000", "0.5", "0.001", "50", "%"]
    assert wrong == "  bad: WRONG, not timed: out[0] is 7"
    assert left_out == "  pallas: left out: JAX is not installed"


def test_what_could_not_be_counted_is_said() -> None:
    v1 = replace(MEASURED.results[0], counted=Counted(why_not="no g++"))
    lines = table(replace(MEASURED, results=(v1, *MEASURED.results[1:])))
    assert lines[2].split()[-3:] == ["%", "(x", "0.5)"]
    assert lines[4] == "  v1: bytes not counted: no g++"


def test_on_a_gpu_another_clock_is_marked() -> None:
    gpu = replace(HARDWARE, device=torch.device("cuda"), l2_bytes=1)
    lines = table(replace(MEASURED, hardware=gpu))
    assert lines[2].split()[0:2] == ["v1", "4000"]
    assert lines[3].split()[0:2] == ["sdpa", "(h)"]


def test_compute_may_be_the_limit() -> None:
    heavy = replace(MEASURED, work=Work(bytes=1, flops=10**10))
    assert table(heavy)[0].endswith("limit 1e+04 us, by flops")


def test_the_hardware_has_a_line() -> None:
    assert hardware_line(HARDWARE) == (
        "a CPU: copies 1 GB/s (read and written), multiplies 1 TFLOP/s, measured"
    )
