"""The page of a kernel says all that its specification says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paged.kernel.page import page
from paged.kernel.registry import ops
from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar
from paged.kernel.work import Cost

SPEC = KernelSpec(
    name="mix",
    summary="Mix two things",
    source="",
    launches=(Launch(entry="mix<{t}>", grid=("n", 2), block=64, shared_bytes="4*n"),),
    operands=(
        Operand(name="x", shape="n n*2", dtype="t", strided=True),
        Operand(name="bias", shape="n", dtype="float32", is_optional=True),
        Operand(name="table", shape="4", dtype="float32", is_variable=True),
        Operand(name="y", shape="n", dtype="t", intent="out", alignment_bytes=16),
    ),
    scalars=(
        Scalar(name="scale", dtype="float32", default=0.5),
        Scalar(name="window", dtype="int32", absent=9),
        Scalar(name="total", dtype="int64", value="n*m"),
    ),
    types={"t": ("float32", "float16")},
    symbols={"m": "cdiv(n, 3)"},
    requires=("n > 0",),
    cost=Cost(bytes="n*8", flops="n*m"),
)


@pytest.mark.parametrize(
    "line",
    [
        "# mix",
        "Mix two things",
        r"| `x` | t: float32, float16 | [n n\*2] | in | strided |",
        "| `bias` | float32 | [n] | in | contiguous, optional |",
        "| `table` | float32 | [4] | in | contiguous, a variable of the source |",
        "| `y` | t: float32, float16 | [n] | out | contiguous, aligned to 16 bytes |",
        "| `scale` | float32 | 0.5 unless given |",
        "| `window` | int32 | optional |",
        "| `total` | int64 | computed: `n*m` |",
        "| `m` | `cdiv(n, 3)` |",
        "Requires `n > 0`.",
        "| `mix<{t}>` | `n` x `2` | `64` | `4*n` |",
        "Least work: `n*8` bytes, `n*m` flops.",
    ],
)
def test_lines(line: str) -> None:
    assert line in page(SPEC).splitlines()


def test_the_struct_is_shown_where_it_is_passed() -> None:
    assert "struct" not in page(SPEC)
    assert "struct MixParams {\n  const T* x;" in page(replace(SPEC, passing="struct"))


def test_every_operation_has_a_page() -> None:
    for op in ops().values():
        assert f"# {op.name}\n" in page(op.signature)
        assert op.summary in page(op.signature)
