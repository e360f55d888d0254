"""What is measured of a device is what it did."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.measure import bandwidth
from paged.kernel.measure.bandwidth import Probe, measure_hardware
from paged.kernel.measure.timing import Round
from tests.helpers.measured import CPU

PROBE = Probe(copy_bytes=1 << 12, matrix_size=8, matrix_dtype=torch.float32)


def test_a_cpu_is_measured() -> None:
    hardware = measure_hardware(CPU, PROBE)
    assert hardware.roofline.bytes_per_s > 0
    assert hardware.roofline.flops_per_s > 0
    assert hardware.l2_bytes is None
    assert hardware.name
    assert hardware.as_dict()["device"] == "cpu"


def test_the_best_round_counts_and_copies_count_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth, "_round", lambda *_: Round(lambda: 0.5, 1, lambda: None))

    def interleave(rounds: dict[str, Round], _: int) -> dict[str, tuple[float, ...]]:
        return {name: (0.5, 0.25, 1.0) for name in rounds}

    monkeypatch.setattr(bandwidth, "interleave", interleave)
    roofline = measure_hardware(CPU, PROBE).roofline
    assert roofline.bytes_per_s == 2 * 4096 / 0.25
    assert roofline.flops_per_s == 2 * 8**3 / 0.25
