"""A kernel with every kind of operand and number, and what its calls are compared by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from paged.kernel.binding import bind
from paged.kernel.instance import requests
from paged.kernel.launch import LaunchRequest
from paged.kernel.plan import ReadyCall, ready_call
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
        Scalar(name="offset", dtype="int64", default=0),
        Scalar(name="window", dtype="int32", absent=2**31 - 1),
        Scalar(name="both", dtype="int64", value="total*rows"),
        Scalar(name="half", dtype="float16", default=0.25),
    ),
    types={"t": ("float32", "float16")},
    symbols={"parts": "cdiv(rows, 2)"},
    constants=("width",),
    requires=("0 <= layer < 8 + parts", "10 // window >= 0 or window > 10", "total < 100"),
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
