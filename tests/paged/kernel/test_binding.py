"""Operands that do not match are refused by name: operand, axis, expected and got."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from paged.errors import OperandError
from paged.kernel.binding import bind
from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar
from tests.helpers.open_sizes import open_size

SPEC = KernelSpec(
    name="gather_rows",
    source="// text",
    launches=(Launch(entry="gather", grid="num_rows", block=32),),
    operands=(
        Operand(name="x", shape="num_rows head_dim", dtype="t", strided=True),
        Operand(name="pool", shape="num_blocks 2 head_dim//2", dtype="kv"),
        Operand(name="index", shape="num_rows", dtype="int32"),
        Operand(name="bias", shape="head_dim", dtype="float32", is_optional=True),
        Operand(name="y", shape="num_rows num_parts", dtype="t", intent="out"),
        Operand(name="part", shape="num_parts max_rows", dtype="float32", intent="workspace"),
    ),
    scalars=(
        Scalar(name="scale", dtype="float32", default=1.0),
        Scalar(name="max_rows", dtype="int32"),
        Scalar(name="window", dtype="int32", absent=99),
        Scalar(name="total", dtype="int64", value="num_rows*max_rows"),
    ),
    types={"t": ("float32", "float16"), "kv": ("float32", "float16")},
    symbols={"num_parts": "cdiv(head_dim, 3)"},
    requires=("head_dim % 4 == 0",),
)


def operands(**changes: Any) -> list[torch.Tensor | None]:
    tensors: dict[str, Any] = {
        "x": torch.zeros(5, 8),
        "pool": torch.zeros(3, 2, 4),
        "index": torch.zeros(5, dtype=torch.int32),
        "bias": None,
    }
    return list({**tensors, **changes}.values())


def test_sizes_types_numbers_and_allocations() -> None:
    binding = bind(SPEC, operands(), {"max_rows": 7})
    assert binding.sizes == {
        "num_rows": 5, "head_dim": 8, "num_blocks": 3, "max_rows": 7, "window": 99, "num_parts": 3,
    }  # fmt: skip
    assert binding.types == {"t": "float32", "kv": "float32"}
    assert binding.scalars == {"scale": 1.0, "max_rows": 7, "window": 99, "total": 35}
    (y,) = binding.outputs
    assert y.shape == (5, 3)
    part = binding.tensors["part"]
    assert part is not None
    assert part.shape == (3, 7)
    assert binding.tensors["bias"] is None


def test_works_on_meta_tensors() -> None:
    tensors = [None if t is None else t.to("meta") for t in operands()]
    (y,) = bind(SPEC, tensors, {"max_rows": 7}).outputs
    assert y.is_meta
    assert y.shape == (5, 3)


@pytest.mark.parametrize("requires", [(), ("max_rows % 7 == 0",)])
def test_sizes_that_a_trace_leaves_open_are_not_pinned(requires: tuple[str, ...]) -> None:
    size = open_size(7)
    tensors = [None if t is None else t.to("meta") for t in operands()]
    spec = replace(SPEC, requires=requires, symbols={**SPEC.symbols, "end": "max_rows+1"})
    binding = bind(spec, tensors, {"max_rows": size})
    assert isinstance(binding.sizes["end"], torch.SymInt)
    assert isinstance(binding.scalars["total"], torch.SymInt)
    pinned = [str(guard.expr) for guard in size.node.shape_env.guards]
    assert not any(text in guard for guard in pinned for text in ("Mod", "<=", "Eq")), pinned


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"x": None}, "operand 'x' is required"),
        ({"x": [[1.0]]}, "operand 'x' must be a torch.Tensor, got builtins.list; pass torch.as_"),
        ({"x": np.zeros((5, 8))}, "'x' must be a torch.Tensor, got numpy.ndarray"),
        ({"x": torch.zeros(5, 8, dtype=torch.complex64).conj().imag},
          r"'x' has torch's neg bit set.* pass .resolve_neg\(\)"),
        ({"x": torch.zeros(5, 8, dtype=torch.complex64).conj()}, r"pass .resolve_conj\(\)"),
        ({"x": torch.zeros(5)}, r"operand 'x' must have 2 axes \[num_rows head_dim\], got 1"),
        ({"x": torch.zeros(5, 8, dtype=torch.float64)}, "must be float32 or float16, got float64"),
        ({"x": torch.zeros(8, 5).T}, "last axis of operand 'x' must have stride 1, got 5"),
        ({"x": torch.zeros(5, 6), "pool": torch.zeros(3, 2, 3)},
          "head_dim % 4 == 0, got head_dim = 6"),
        ({"x": torch.zeros(5, 8, requires_grad=True)}, "'x' requires grad"),
        ({"pool": torch.zeros(3, 1, 4)}, r"axis 1 \(2\) of operand 'pool' must be 2, got 1"),
        ({"pool": torch.zeros(3, 2, 8)}, r"\(head_dim//2\) of operand 'pool' must be 4, got 8"),
        ({"pool": torch.zeros(2, 3, 4).transpose(0, 1)}, "'pool' must be contiguous"),
        ({"index": torch.zeros(6, dtype=torch.int32)}, r"must be 5, as in operand 'x', got 6"),
        ({"index": torch.zeros(5, dtype=torch.int64)}, "'index' must be int32, got int64"),
        ({"bias": torch.zeros(8, device="meta")}, "'bias' must be on cpu, as operand 'x' is"),
        ({"extra": torch.zeros(1)}, r"expected 4 operands \(x, pool, index, bias\), got 5"),
    ],
)  # fmt: skip
def test_wrong_operands(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(OperandError, match=reason):
        bind(SPEC, operands(**changes), {"max_rows": 7})


def test_one_type_variable_is_one_type() -> None:
    other = Operand(name="z", shape="num_rows", dtype="t")
    spec = replace(SPEC, operands=(*SPEC.operands, other))
    z = torch.zeros(5, dtype=torch.float16)
    with pytest.raises(OperandError, match=r"'z' must be float32 \(t\), as operand 'x' is"):
        bind(spec, [*operands(), z], {"max_rows": 7})


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({}, "number 'max_rows' is required"),
        ({"max_rows": 1, "scales": 2},
          "'scales'; it takes scale, max_rows, window; did you mean 'scale'?"),
        ({"max_rows": 1, "index": 2}, "'index' came by name; pass operands by position: x, pool,"),
        ({"max_rows": 1, "head_dim": 8}, "size 'head_dim' follows from the operands"),
        ({"max_rows": 1, "total": 2}, "unknown number 'total'"),
        ({"max_rows": 1.5}, "'max_rows' must be an int32, got 1.5"),
        ({"max_rows": 2**31}, "'max_rows' must be an int32"),
        ({"max_rows": None}, "'max_rows' is required"),
        ({"max_rows": "0"}, "'max_rows' must be an int32, got '0'"),
        ({"max_rows": 1, "scale": [2.0]}, r"'scale' must be an float32, got \[2.0\]"),
        ({"max_rows": -1}, "axis max_rows of workspace 'part' must be at least 0, got -1"),
        ({"max_rows": float("nan")}, "'max_rows' must be an int32, got nan"),
    ],
)  # fmt: skip
def test_wrong_numbers(numbers: dict[str, Any], reason: str) -> None:
    with pytest.raises(OperandError, match=reason.replace("?", r"\?")):
        bind(SPEC, operands(), numbers)


def test_empty_and_strided_operands_pass() -> None:
    wide = torch.zeros(5, 3, 8)[:, 1]
    assert bind(SPEC, operands(x=wide), {"max_rows": 0}).outputs[0].shape == (5, 3)
    empty = operands(x=torch.zeros(0, 8), index=torch.zeros(0, dtype=torch.int32))
    assert bind(SPEC, empty, {"max_rows": 1}).outputs[0].shape == (0, 3)


def test_rows_of_an_aligned_operand_are_aligned() -> None:
    first, *others = SPEC.operands
    spec = replace(SPEC, operands=(replace(first, alignment_bytes=16), *others))
    for pitch, last in ((12, 8), (8, 8)):
        bind(spec, operands(x=torch.zeros(5, pitch)[:, :last]), {"max_rows": 7})
    reason = r"strides of operand 'x' must be multiples of 16 bytes, got \(9, 1\) elements of 4"
    with pytest.raises(OperandError, match=reason):
        bind(spec, operands(x=torch.zeros(5, 9)[:, :8]), {"max_rows": 7})


def test_sizes_beyond_32_bits_are_refused() -> None:
    x = torch.zeros(1, 1).expand(2**31, 1)
    spec = KernelSpec(
        name="wide",
        source="",
        launches=(Launch(entry="f", grid=1, block=1),),
        operands=(Operand(name="x", shape="rows one", dtype="float32", strided=True),),
    )
    with pytest.raises(OperandError, match="size rows must fit in 32 bits"):
        bind(spec, [x], {})
