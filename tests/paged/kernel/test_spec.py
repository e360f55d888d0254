"""Specifications that contradict themselves are refused where they are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paged.errors import KernelSourceError
from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar
from paged.kernel.work import Cost

SPEC = KernelSpec(
    name="scale_rows",
    source="// text",
    launches=(Launch(entry="scale", grid="num_rows", block=("num_columns", 1)),),
    operands=(
        Operand(name="x", shape="num_rows num_columns", dtype="t"),
        Operand(name="y", shape="num_rows half", dtype="t", intent="out"),
    ),
    scalars=(
        Scalar(name="factor", dtype="float32"),
        Scalar(name="count", dtype="int32"),
        Scalar(name="double_rows", dtype="int64", value="2*num_rows"),
    ),
    types={"t": ("float32", "float16")},
    symbols={"half": "num_columns // 2"},
    constants=("num_columns",),
)


def test_sizes_in_order_of_appearance_then_symbols() -> None:
    assert SPEC.sizes == ("num_rows", "num_columns", "half")
    assert SPEC.given_sizes == ("count",)
    assert [o.name for o in SPEC.given] == ["x"]


def test_struct_name() -> None:
    assert SPEC.struct_name == "ScaleRowsParams"


def operand(**changes: Any) -> Operand:
    return replace(Operand(name="z", shape="num_rows", dtype="float32"), **changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "no name"}, "identifier"),
        ({"launches": ()}, "at least one launch"),
        ({"launches": (Launch(entry="k", grid=(1, 1, 1, 1), block=1),)}, "1 to 3 sizes"),
        ({"launches": (Launch(entry="k", grid=1, block=()),)}, "1 to 3 sizes"),
        ({"launches": (Launch(entry="k{", grid=1, block=1),)}, "'k{': Single '{' encountered"),
        ({"launches": (Launch(entry="k<{}>", grid=1, block=1),)}, "in its braces, got ''"),
        ({"launches": (Launch(entry="k<{0}>", grid=1, block=1),)}, "in its braces, got '0'"),
        ({"launches": (Launch(entry="k<{t!r}>", grid=1, block=1),)}, "in its braces, got 't'"),
        ({"operands": (*SPEC.operands, operand(name="x"))}, "x more than once"),
        ({"operands": (*SPEC.operands, operand(name="num_rows"))}, "num_rows more than once"),
        ({"operands": (*SPEC.operands, operand(dtype="float12"))}, "float12"),
        ({"operands": (*SPEC.operands, operand(intent="output"))}, "in, out, inout, workspace"),
        ({"operands": (*SPEC.operands, operand(shape="num_rows*"))}, "no expression"),
        ({"operands": (*SPEC.operands, operand(alignment_bytes=12))}, "a power of two, got 12"),
        ({"operands": (*SPEC.operands, operand(alignment_bytes=0))}, "a power of two, got 0"),
        ({"source": "mine.cu"}, r"source is CUDA text or a Path; .* pass Path\('mine.cu'\)"),
        ({"types": {"t": ("half",)}}, "half"),
        ({"requires": ("num_cols > 1",)}, "names num_cols, which .* mean 'num_columns'"),
        ({"constants": ("num_cols",)}, "got 'num_cols'; did you mean 'num_columns'"),
        ({"cost": Cost(flops="num_cols")}, "num_cols"),
        ({"launches": (Launch(entry="f", grid="num_cols", block=1),)}, "num_cols"),
        ({"launches": (Launch(entry="f", grid=1, block=1, shared_bytes="lanes*4"),)}, "lanes"),
        ({"parameters": ("x", "y", "z", "factor", "count", "double_rows")}, "'z'"),
        ({"parameters": ("x", "y", "facto")}, "'facto' is no .*; did you mean 'factor'"),
        ({"parameters": ("x", "factor")}, "lack count, double_rows, y"),
    ],
)
def test_contradictions_are_named(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(KernelSourceError, match=reason):
        replace(SPEC, **changes)


def test_a_missing_file_is_an_error_of_the_read(tmp_path: Any) -> None:
    spec = replace(SPEC, source=tmp_path / "none.cu")
    with pytest.raises(KernelSourceError, match=r"none\.cu"):
        spec.read()
