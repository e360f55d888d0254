"""What a kernel moves on a workload, or on the smaller one that stands for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from paged.errors import BackendUnavailable
from paged.kernel.measure import counted
from paged.kernel.measure.counted import Counted, count
from paged.kernel.measure.workloads import Workload, workloads_of
from paged.kernel.registry import find_op
from paged.kernel.spec import KernelSpec
from paged.kernel.traffic import OperandTraffic, Traffic
from paged.kernel.variant import find_variant
from tests.helpers.measured import CPU

MOVED = OperandTraffic(
    operand="x",
    num_reads=4,
    num_writes=0,
    read_bytes=16,
    write_bytes=0,
    read_sector_bytes=64,
    write_sector_bytes=0,
    least_bytes=16,
)
TRAFFIC = Traffic(operands=(MOVED,), least_bytes=20)


@pytest.fixture
def spec() -> KernelSpec:
    """Return a kernel that copies blocks."""
    return find_variant(find_op("copy_blocks"), "vector").spec


@pytest.fixture
def workload() -> Workload:
    """Return a call of it."""
    return workloads_of("copy_blocks", CPU)["tiny"]


def test_a_kernel_is_counted_on_its_workload(spec: KernelSpec, workload: Workload) -> None:
    found = count(spec, workload)
    assert found.bytes_over_minimum == pytest.approx(1.0, abs=0.02)
    assert found.text == "1.02"
    row = found.row()
    assert row["counted_on"] == "this call"
    assert row["least_bytes"] == 2 * 4 * 2 * 2 * 2 * 16 * 64 * 2 + 4 * 16
    assert row["sector_bytes"]["kv_pool"] == row["least_bytes"] - 4 * 16


def test_a_smaller_call_stands_for_a_large_one(spec: KernelSpec, workload: Workload) -> None:
    def never(_device: torch.device, _seed: int) -> None:
        raise AssertionError("the large call was made")

    large = replace(workload, build=never, smaller=workload.build)
    found = count(spec, large)
    assert found.text == "~1.02"
    assert found.row()["counted_on"] == "a smaller call of the same shape"


@pytest.mark.parametrize(
    ("op", "variant", "names"),
    [
        ("attention", "v0", ("b1-s4k", "b1-s32k")),
        ("copy_blocks", "vector", ("pairs-32", "pairs-256")),
    ],
)
def test_calls_with_one_smaller_call_are_counted_once(
    op: str, variant: str, names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Traffic] = []

    def measure(*_: object, **__: object) -> Traffic:
        made.append(replace(TRAFFIC))
        return made[-1]

    monkeypatch.setattr(counted, "measure_traffic", measure)
    spec = find_variant(find_op(op), variant).spec
    for _ in range(2):
        workloads = workloads_of(op, torch.device("cuda"))
        assert all(count(spec, workloads[name]).traffic is made[0] for name in names)
    assert len(made) == 1


def test_what_cannot_be_counted_says_why(
    spec: KernelSpec, workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Traffic:
        raise BackendUnavailable("no g++\nat all")

    monkeypatch.setattr(counted, "measure_traffic", refuse)
    found = count(spec, workload)
    assert (found.text, found.bytes_over_minimum) == ("", None)
    assert found.row() == {"bytes_over_minimum": None, "why_not_counted": "no g++"}


def test_the_ratio_is_that_of_all_operands() -> None:
    assert Counted(traffic=TRAFFIC).text == "3.2"
    assert Counted(traffic=TRAFFIC).row()["sector_bytes"] == {"x": 64}
    assert Counted(traffic=replace(TRAFFIC, least_bytes=0)).text == ""
