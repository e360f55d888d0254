"""Parameters: the numpy record equals the C++ struct, and addresses are where they are said."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from paged.kernel.binding import bind
from paged.kernel.record import Place, offsets_bytes, pack, places, struct_dtype, struct_text
from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar

SPEC = KernelSpec(
    name="mix",
    source="",
    launches=(Launch(entry="mix", grid=1, block=1),),
    operands=(
        Operand(name="x", shape="n head_dim", dtype="t", strided=True),
        Operand(name="table", shape="n", dtype="int32", is_optional=True),
        Operand(name="filter", shape="3", dtype="float32", is_variable=True),
        Operand(name="y", shape="n", dtype="float32", intent="out"),
    ),
    scalars=(
        Scalar(name="flag", dtype="bool", default=True),
        Scalar(name="total", dtype="int64", value="n*5"),
        Scalar(name="scale", dtype="float32"),
        Scalar(name="step", dtype="float64", default=0.5),
        Scalar(name="small", dtype="int8", default=-3),
    ),
    types={"t": ("float32", "float64")},
    constants=("head_dim",),
    passing="struct",
)


def test_the_compiler_agrees_with_every_offset(tmp_path: Path) -> None:
    text = struct_text(SPEC, {"t": "float32"})
    names = offsets_bytes(struct_dtype(SPEC))
    assert list(names) == [
        "x", "table", "y", "x_stride", "n", "flag", "total", "scale", "step", "small", "head_dim",
    ]  # fmt: skip
    assert text.count("static_assert") == len(names) + 1
    file = tmp_path / "record.cpp"
    file.write_text(f"#define T float\n{text}")
    subprocess.run(["g++", "-std=c++17", "-fsyntax-only", file], check=True)
    file.write_text(f"#define T float\n{text}".replace("long long total", "int total"))
    wrong = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", file], check=False, capture_output=True
    )
    assert b"lies elsewhere on the host" in wrong.stderr


def test_struct_values() -> None:
    x = torch.arange(12.0).reshape(3, 4)[:, :2]
    binding = bind(SPEC, [x, None, torch.ones(3)], {"scale": 1.5})
    arguments = pack(binding)
    (record,) = arguments.values
    assert record["x"] == x.data_ptr()
    assert record["table"] == 0
    assert record["x_stride"].tolist() == [[4, 1]]
    assert record["head_dim"].item() == 2
    assert [record[n].item() for n in ("n", "flag", "total", "scale", "step", "small")] == [
        3, True, 15, 1.5, 0.5, -3,
    ]  # fmt: skip
    assert [p.operand for p in arguments.pointers] == ["x", "y"]
    for pointer in arguments.pointers:
        at = record.view(np.uint8)[pointer.offset_bytes :][:8].view(np.uint64).item()
        assert at == pointer.tensor.data_ptr()


def test_parameters_in_the_kernels_own_order() -> None:
    order = ("n", "y", "small", "x", "head_dim", "table", "total", "flag", "step", "scale")
    spec = replace(SPEC, passing="parameters", parameters=order)
    x = torch.zeros(3, 2)
    binding = bind(spec, [x, None, torch.ones(3)], {"scale": 2.0})
    values = pack(binding).values
    dtypes = ["i4", "u8", "i1", "u8", "i4", "u8", "i8", "?", "f8", "f4"]
    assert [v.dtype for v in values] == [np.dtype(d) for d in dtypes]
    assert values[0] == 3
    assert values[4] == 2
    assert values[5] == 0
    assert values[9] == 2.0
    by_name = {p.operand: p for p in pack(binding).pointers}
    assert by_name["y"].argument_index == 1
    assert by_name["x"].argument_index == 3


def test_places_of_values() -> None:
    struct = places(SPEC)
    assert {name: place.offset_bytes for name, place in struct.items()} == offsets_bytes(
        struct_dtype(SPEC)
    )
    assert {place.argument_index for place in struct.values()} == {0}
    listed = places(replace(SPEC, passing="parameters"))
    assert list(listed) == ["x", "table", "y", "flag", "total", "scale", "step", "small"]
    assert list(listed.values()) == [Place(i, 0) for i in range(8)]


@pytest.mark.parametrize("passing", ["struct", "parameters"])
def test_values_do_not_alias_between_calls(passing: str) -> None:
    spec = replace(SPEC, passing=passing)
    x = torch.zeros(3, 2)
    first = pack(bind(spec, [x, None, torch.ones(3)], {"scale": 1.0}))
    kept = [v.copy() for v in first.values]
    pack(bind(spec, [x, None, torch.ones(3)], {"scale": 2.0}))
    assert all((a == b).all() for a, b in zip(first.values, kept, strict=True))
