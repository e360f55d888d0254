"""Only what is right is timed, and times stand beside the hardware's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.measure import measurement
from paged.kernel.measure.candidate import Call, Candidate, Unserved, kernel_candidate
from paged.kernel.measure.counted import Counted
from paged.kernel.measure.measurement import Measurement, measure
from paged.kernel.measure.peers import peers_of
from paged.kernel.measure.timing import Round
from paged.kernel.measure.workloads import Workload, workloads_of
from paged.kernel.problem import Problem
from paged.kernel.registry import find_op
from paged.kernel.spec import KernelSpec
from paged.kernel.variant import find_variant
from tests.helpers.measured import HARDWARE, WORKLOAD, exact, spoiled


def failing(error: Exception, *, is_peer: bool = True) -> Candidate:
    def prepare(_: Problem) -> Call:
        raise error

    return Candidate(name="failing", prepare=prepare, is_peer=is_peer)


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[float, ...]]:
    """Put times by name of the candidate in place of measured ones."""
    times = {"exact": (2e-3, 4e-3, 2e-3), "peer": (1e-3, 1e-3, 1e-3)}

    def interleave(rounds: Mapping[str, Round], num_rounds: int) -> dict[str, tuple[float, ...]]:
        assert num_rounds == 3
        return {name: times[name] for name in rounds}

    monkeypatch.setattr(measurement, "interleave", interleave)
    return times


def run(*candidates: Candidate) -> Measurement:
    return measure(WORKLOAD, candidates, HARDWARE, num_rounds=3)


def test_a_row_has_time_work_and_share(seconds: dict[str, tuple[float, ...]]) -> None:
    measured = run(exact(), exact("peer", is_peer=True))
    ours, peer = measured.rows()
    # 38 keys of 2 heads, 3 queries in and out, and lse
    num_bytes = 38 * 2 * 2 * 16 * 4 + 2 * 3 * 6 * 16 * 4 + 3 * 6 * 4
    assert ours["bytes"] == measured.work.bytes == num_bytes
    assert ours["flops"] == 4 * 38 * 6 * 16
    assert ours["median_s"] == 2e-3
    assert ours["rounds_s"] == list(seconds["exact"])
    assert ours["bytes_per_s"] == pytest.approx(num_bytes / 2e-3)
    assert ours["bound"] == "bytes"
    assert ours["share_of_roofline"] == pytest.approx(num_bytes * 1e-9 / 2e-3)
    assert ours["peer_over_this"] == {"peer": 0.5}
    assert (ours["is_peer"], peer["is_peer"]) == (False, True)


@pytest.mark.usefixtures("seconds")
def test_what_is_wrong_is_reported_and_not_timed() -> None:
    wrong = spoiled(lambda _, results: (results[0] * 2, results[1]), "wrong")
    measured = run(exact(), wrong)
    row = measured.rows()[1]
    assert row["fault"].startswith("out[")
    assert "median_s" not in row


@pytest.mark.usefixtures("seconds")
@pytest.mark.parametrize(
    ("error", "key", "text"),
    [
        (Unserved("no such type"), "why_not", "no such type"),
        (KernelRunError("it crashed"), "fault", "it crashed"),
        (LookupError("odd\nand long"), "why_not", "LookupError: 'odd"),
    ],
)
def test_what_fails_is_reported(error: Exception, key: str, text: str) -> None:
    measured = run(exact(), failing(error))
    row = measured.rows()[1]
    assert row[key].startswith(text[:12])
    assert "median_s" not in row
    assert "median_s" in measured.rows()[0]


@pytest.mark.usefixtures("seconds")
def test_kernels_that_were_timed_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[KernelSpec] = []

    def count(spec: KernelSpec, workload: Workload) -> Counted:
        assert workload is WORKLOAD
        counted.append(spec)
        return Counted(why_not="not now")

    monkeypatch.setattr(measurement, "count", count)
    spec = find_variant(find_op("attention"), "v1").spec
    wrong = replace(spoiled(lambda _, results: (results[0] * 2, results[1]), "wrong"), spec=spec)
    ours, peer, fault = run(replace(exact(), spec=spec), exact("peer", is_peer=True), wrong).rows()
    assert counted == [spec]
    assert ours["traffic"] == {"bytes_over_minimum": None, "why_not_counted": "not now"}
    assert "traffic" not in peer | fault


def test_an_error_of_our_own_is_not_hidden() -> None:
    with pytest.raises(LookupError):
        run(failing(LookupError("ours"), is_peer=False))


@pytest.mark.gpu
def test_a_kernel_is_timed_on_a_gpu() -> None:
    device = torch.device("cuda")
    workload = workloads_of("copy_blocks", device)["pairs-1"]
    spec = find_variant(find_op("copy_blocks"), "vector").spec
    ours = kernel_candidate("vector", spec, InterpretConfig())
    hardware = replace(HARDWARE, device=device, l2_bytes=1 << 24)
    candidates = [ours, *peers_of(workload, device)]
    rows = measure(workload, candidates, hardware, num_rounds=3).rows()
    assert [(row["name"], row["clock"]) for row in rows] == [
        ("vector", "graph"),
        ("index_copy", "graph"),
    ]
    assert all(row["median_s"] > 0 for row in rows)
