"""Planned calls equal bound ones, word for word where they are refused."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paged.errors import OperandError
from paged.kernel import plans as plans_module
from paged.kernel.binding import bind
from paged.kernel.instance import requests
from paged.kernel.launch import LaunchRequest
from paged.kernel.plan import ReadyCall, ready_call
from paged.kernel.plans import Plans
from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar

SPEC = KernelSpec(
    name="all_kinds",
    source="",
    launches=(
        Launch(entry="first<{t}, {width}>", grid=("rows", "cdiv(total, 4)"), block=32),
        Launch(entry="second", grid="parts", block="width", shared_bytes="4*width"),
    ),
    operands=(
        Operand(name="y", shape="rows parts", dtype="t", intent="out"),
        Operand(name="x", shape="rows width", dtype="t", strided=True),
        Operand(name="table", shape="parts", dtype="int32", is_optional=True),
        Operand(name="filter", shape="3", dtype="float32", is_variable=True),
        Operand(name="state", shape="rows", dtype="float64", intent="inout"),
        Operand(name="scratch", shape="total width", dtype="t", intent="workspace"),
    ),
    scalars=(
        Scalar(name="total", dtype="int32"),
        Scalar(name="scale", dtype="float32", default=0.5),
        Scalar(name="layer", dtype="int64"),
        Scalar(name="flag", dtype="bool", default=True),
        Scalar(name="window", dtype="int32", absent=2**31 - 1),
        Scalar(name="both", dtype="int64", value="total*rows"),
        Scalar(name="half", dtype="float16", default=0.25),
    ),
    types={"t": ("float32", "float16")},
    symbols={"parts": "cdiv(rows, 2)"},
    constants=("width",),
    requires=("0 <= layer < 10", "10 // window >= 0 or window > 10", "total < 100"),
)
STRUCT = replace(SPEC, passing="struct")


def tensors(
    rows: int = 4, width: int = 8, *, dtype: torch.dtype = torch.float32, **changes: Any
) -> list[torch.Tensor | None]:
    given: dict[str, Any] = {
        "x": torch.zeros(rows, width, dtype=dtype),
        "table": None,
        "filter": torch.ones(3),
        "state": torch.zeros(rows, dtype=torch.float64),
    }
    return list({**given, **changes}.values())


Facts = tuple[object, ...]


def facts(call: ReadyCall) -> Facts:
    """Return all of a call but the addresses, after having checked that they are in place."""
    layout = [(t.shape, t.stride(), t.dtype, t.device) for t in call.outputs]
    variables = {name: tensor.data_ptr() for name, tensor in call.variables.items()}
    return call.build, layout, variables, [_launch_facts(launch) for launch in call.launches]


def _launch_facts(launch: LaunchRequest) -> Facts:
    data = [bytearray(argument.tobytes()) for argument in launch.arguments]
    pointers = []
    for pointer in launch.pointers:
        at = data[pointer.argument_index]
        span = slice(pointer.offset_bytes, pointer.offset_bytes + 8)
        assert int.from_bytes(at[span], "little") == pointer.tensor.data_ptr()
        at[span] = bytes(8)
        place = (pointer.argument_index, pointer.offset_bytes)
        layout = (pointer.tensor.shape, pointer.tensor.stride(), pointer.tensor.dtype)
        pointers.append((pointer.operand, pointer.intent, place, layout))
    return launch.entry, launch.grid, launch.block, launch.shared_bytes, data, pointers


def bound(
    spec: KernelSpec, operands: Sequence[torch.Tensor | None], numbers: Mapping[str, Any]
) -> ReadyCall:
    binding = bind(spec, operands, numbers)
    return ready_call(binding, requests(binding))


NUMBERS = st.fixed_dictionaries(
    {"total": st.integers(0, 3), "layer": st.integers(-1, 10)},
    optional={
        "scale": st.floats(width=32),
        "flag": st.booleans(),
        "window": st.one_of(st.none(), st.integers(-1, 20)),
        "half": st.sampled_from([0, 1.5, -0.0, 7e4]),
        "other": st.just(1),
    },
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[torch.Tensor | None], dict[str, Any]]:
    rows, width = draw(st.integers(0, 5)), draw(st.integers(1, 3))
    dtype = draw(st.sampled_from([torch.float32, torch.float16]))
    operands = tensors(rows, width, dtype=dtype)
    if draw(st.booleans()):
        operands[0] = torch.zeros(rows, width + 2, dtype=dtype)[:, :width]
    if draw(st.booleans()):
        operands[1] = torch.zeros((rows + 1) // 2, dtype=torch.int32)
    return operands, draw(NUMBERS)


@pytest.mark.parametrize("spec", [SPEC, STRUCT], ids=["parameters", "struct"])
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@given(batch=st.lists(calls(), min_size=2, max_size=6))
def test_calls_equal_bound_ones(spec: KernelSpec, batch: list[Any]) -> None:
    plans = Plans(spec)
    for operands, numbers in [*batch, *batch]:
        ready = plans.ready(operands, numbers)
        try:
            expected = bound(spec, operands, numbers)
        except OperandError:
            assert ready is None
            continue
        if ready is not None:
            assert facts(ready) == facts(expected)
        assert facts(plans.add(bind(spec, operands, numbers))) == facts(expected)
        checked, binding = plans.check(operands, numbers), bind(spec, operands, numbers)
        assert checked.sizes == binding.sizes
        assert (checked.types, checked.scalars) == (binding.types, binding.scalars)
        assert [checked.tensors[o.name] for o in spec.given] == operands


def planned(numbers: Mapping[str, Any] | None = None) -> Plans:
    plans = Plans(STRUCT)
    plans.add(bind(STRUCT, tensors(), {"total": 2, "layer": 1, **(numbers or {})}))
    return plans


@pytest.mark.parametrize(
    ("numbers", "is_planned"),
    [
        ({}, True),
        ({"layer": 9, "scale": 3.0, "flag": False, "window": 5}, True),
        ({"window": None, "scale": 3}, True),
        ({"total": 3}, False),
        ({"layer": 10}, False),
        ({"layer": True}, False),
        ({"layer": np.int64(3)}, False),
        ({"window": 0}, False),
        ({"window": 2**31}, False),
        ({"scale": None}, False),
        ({"scale": float("inf")}, False),
        ({"surplus": 1}, False),
    ],
)
def test_late_numbers_need_no_new_plan(numbers: dict[str, Any], is_planned: bool) -> None:
    plans = planned()
    ready = plans.ready(tensors(), {"total": 2, "layer": 1, **numbers})
    assert (ready is not None) == is_planned


def test_numbers_reach_the_arguments() -> None:
    ready = planned().ready(tensors(), {"total": 2, "layer": 7, "scale": 0.75, "window": 3})
    assert ready is not None
    expected = bound(STRUCT, tensors(), {"total": 2, "layer": 7, "scale": 0.75, "window": 3})
    (record,) = expected.launches[0].arguments
    (data,) = ready.launches[0].arguments
    got = np.frombuffer(data.tobytes(), record.dtype)[0]
    assert [got[name] for name in ("layer", "scale", "window", "both")] == [7, 0.75, 3, 8]


@pytest.mark.parametrize(
    "operands",
    [
        tensors(5),
        tensors(dtype=torch.float16),
        tensors(x=torch.zeros(4, 10)[:, :8]),
        tensors(x=torch.zeros(4, 8).T.contiguous().T),
        tensors(table=torch.zeros(2, dtype=torch.int32)),
        tensors(x=torch.zeros(4, 8, device="meta")),
        tensors(x=torch.zeros(4, 8, requires_grad=True)),
        tensors()[:3],
    ],
    ids=["shape", "dtype", "stride", "order", "optional", "device", "grad", "count"],
)
def test_another_operand_has_another_plan_or_none(operands: list[torch.Tensor | None]) -> None:
    plans = planned()
    assert plans.ready(tensors(), {"total": 2, "layer": 1}) is not None
    assert plans.ready(operands, {"total": 2, "layer": 1}) is None


def test_gradients_count_only_where_they_are_kept() -> None:
    operands = tensors(x=torch.zeros(4, 8, requires_grad=True))
    with torch.no_grad():
        assert planned().ready(operands, {"total": 2, "layer": 1}) is not None


def test_calls_share_neither_outputs_nor_arguments() -> None:
    plans = planned()
    first = plans.ready(tensors(), {"total": 2, "layer": 1})
    second = plans.ready(tensors(), {"total": 2, "layer": 2})
    assert first is not None
    assert second is not None
    assert facts(first) != facts(second)
    assert first.outputs[0].data_ptr() != second.outputs[0].data_ptr()
    assert not np.shares_memory(first.launches[0].arguments[0], second.launches[0].arguments[0])


def test_plans_keep_no_tensor_alive() -> None:
    plans, operands = Plans(STRUCT), tensors(table=torch.zeros(2, dtype=torch.int32))
    call = plans.add(bind(STRUCT, operands, {"total": 2, "layer": 1}))
    held = [weakref.ref(t) for t in (*operands, *call.outputs) if t is not None]
    del operands, call
    assert [reference() for reference in held] == [None] * 5


def test_threads_do_not_mix_their_calls() -> None:
    plans = planned()

    def layer_of(layer: int) -> int:
        ready = plans.ready(tensors(), {"total": 2, "layer": layer % 10})
        assert ready is not None
        expected = bound(STRUCT, tensors(), {"total": 2, "layer": layer % 10})
        assert facts(ready)[3] == facts(expected)[3]
        return layer

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(layer_of, range(400))) == list(range(400))


def test_few_plans_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans_module, "MAX_PLANS", 2)
    plans = Plans(STRUCT)
    numbers = {"total": 2, "layer": 1}
    for rows in range(1, 8):
        plans.add(bind(STRUCT, tensors(rows), numbers))
    kept = [rows for rows in range(1, 8) if plans.ready(tensors(rows), numbers) is not None]
    assert kept[-2:] == [6, 7]
    assert len(kept) <= 4
