"""Plans: what they hold, and that calls made from one share nothing that changes."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import torch

from paged.kernel.binding import bind
from paged.kernel.instance import requests
from paged.kernel.plan import Plan, ReadyCall, build_of, plan_of, ready_call
from paged.kernel.spec import KernelSpec
from tests.helpers.ready_calls import SPEC, STRUCT, bound, facts, tensors

LATE = ("layer", "window", "scale", "flag", "half", "offset")
VALUES = (7, 3, 0.75, False, 1.5, -(2**40))
NUMBERS = {"total": 2, **dict(zip(LATE, VALUES, strict=True))}


def plan_for(spec: KernelSpec, operands: list[torch.Tensor | None]) -> Plan:
    binding = bind(spec, operands, {"total": 2, "layer": 1})
    return plan_of(binding, requests(binding), LATE)


def ready_of(plan: Plan, operands: list[torch.Tensor | None]) -> ReadyCall:
    ready = plan.ready(operands, VALUES)
    assert ready is not None, "the addresses of new tensors raise no doubt"
    return ready


@pytest.mark.parametrize("spec", [SPEC, STRUCT], ids=["parameters", "struct"])
@pytest.mark.parametrize("table", [None, torch.zeros(2, dtype=torch.int32)])
def test_a_planned_call_equals_a_bound_one(spec: KernelSpec, table: torch.Tensor | None) -> None:
    operands = tensors(table=table)
    ready = ready_of(plan_for(spec, tensors(table=table)), operands)
    assert facts(ready) == facts(bound(spec, operands, NUMBERS))
    assert all(launch.device == torch.device("cpu") for launch in ready.launches)


def test_numbers_reach_the_arguments() -> None:
    ready = ready_of(plan_for(STRUCT, tensors()), tensors())
    (record,) = bound(STRUCT, tensors(), NUMBERS).launches[0].arguments
    (data,) = ready.launches[0].arguments
    got = np.frombuffer(data.tobytes(), record.dtype)[0]
    assert [got[name].item() for name in LATE] == list(VALUES)
    assert got["both"] == 8


def test_neighbouring_values_are_packed_at_once() -> None:
    plan = plan_for(STRUCT, tensors(table=torch.zeros(2, dtype=torch.int32)))
    assert [write.pack.size for write in plan.addresses] == [5 * 8]
    apart = plan_for(STRUCT, tensors())
    assert [write.pack.size for write in apart.addresses] == [2 * 8, 2 * 8]


def test_launches_without_blocks_are_left_out() -> None:
    binding = bind(STRUCT, tensors(0), {"total": 2, "layer": 1})
    launches = requests(binding)
    assert len(launches) == 2
    assert ready_call(binding, launches).launches == []
    assert plan_of(binding, launches, LATE).starts == ()


def test_the_build_is_types_and_constants() -> None:
    binding = bind(SPEC, tensors(), {"total": 2, "layer": 1})
    assert build_of(binding) == ((("t", "float32"),), (("width", 8),))


def test_calls_share_neither_outputs_nor_arguments() -> None:
    plan, operands = plan_for(STRUCT, tensors()), tensors()
    first, second = ready_of(plan, operands), ready_of(plan, operands)
    assert facts(first) == facts(second)
    assert first.outputs[0].data_ptr() != second.outputs[0].data_ptr()
    assert not np.shares_memory(first.launches[0].arguments[0], second.launches[0].arguments[0])


def test_a_plan_keeps_no_tensor_alive() -> None:
    operands = tensors(table=torch.zeros(2, dtype=torch.int32))
    plan = plan_for(STRUCT, operands)
    call = ready_of(plan, operands)
    held = [weakref.ref(t) for t in (*operands, *call.outputs) if t is not None]
    del operands, call
    assert [reference() for reference in held] == [None] * 5
