"""A kernel's race: checked first, as many calls a round as its peers are scaled to."""

from __future__ import annotations

from typing import cast

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import kernels
from bench.compare import Times, race
from bench.kernels import Entry, KernelRace, devices, entries
from paged.kernel.measure.timing import Round
from paged.kernel.registry import OP_NAMES, ops
from paged.kernel.variant import shipped_variants
from tests.bench.test_compare import FakeBenchmark
from tests.helpers.measured import HARDWARE

ENTRY = Entry(op="copy_blocks", variant="simple", workload="tiny", device="cpu")


@pytest.fixture(autouse=True)
def hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the limits as known: they take a second to measure."""
    monkeypatch.setattr(kernels, "hardware", lambda _: HARDWARE)


def test_every_shipped_kernel_is_entered() -> None:
    entered = {(entry.op, entry.variant) for entry in entries() if entry.device == "cpu"}
    assert entered == {(op, name) for op in OP_NAMES for name in shipped_variants(ops()[op])}
    labels = [entry.label for entry in entries()]
    assert len(set(labels)) == len(labels)
    assert "cpu" in devices()


def test_a_race_gives_times_of_a_call() -> None:
    kernel = KernelRace(ENTRY)
    assert kernel.result.fault is None
    assert set(kernel.rivals) == {"index_copy"}
    num_calls = kernel.contestant.work_per_round
    benchmark = cast(BenchmarkFixture, FakeBenchmark())
    raced = race(benchmark, kernel.contestant, kernel.rivals, num_chunks=1, rounds_per_chunk=1)
    assert raced is not None
    ours, _ = raced
    assert ours.mean_us == pytest.approx(1 / num_calls)


def test_peers_are_scaled_to_as_many_calls() -> None:
    kernel = KernelRace(ENTRY)
    kernel.peers = [(kernel.result, Round(lambda: 2.0, 4, lambda: None))]
    num_calls = kernel.contestant.work_per_round
    assert kernel.rivals["simple"](2) == [0.5e6 * num_calls] * 2


def test_a_comparison_keeps_what_the_roofline_needs() -> None:
    def times(mean_us: float) -> Times:
        return Times.of([mean_us] * 2, work_per_round=1.0, num_chunks=2)

    notes = KernelRace(ENTRY).comparison(times(100.0), {"index_copy": times(50.0)}).notes
    ours, peer = notes["rows"]
    assert (ours["name"], ours["median_s"]) == ("simple", pytest.approx(1e-4))
    assert ours["peer_over_this"] == {"index_copy": pytest.approx(0.5)}
    assert peer["is_peer"]
    assert ours["traffic"]["bytes_over_minimum"] == pytest.approx(1.0, abs=0.02)
    assert notes["bytes_over_minimum"] == "1.02"
    assert "traffic" not in peer
    assert notes["hardware"]["copy_bytes_per_s"] == 1e9
