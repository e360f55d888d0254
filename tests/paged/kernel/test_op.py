"""Operations: schema and signature."""

from __future__ import annotations

import torch

from paged.kernel.op import KERNELS_DIR, Op
from paged.kernel.registry import ops
from paged.kernel.spec import Operand, Scalar


def test_every_operation_has_a_schema_and_a_folder() -> None:
    for op in ops().values():
        assert torch._C.parse_schema(op.schema).name == op.name
        assert op.variants_dir.parent == KERNELS_DIR
        assert op.variants_dir.is_dir()


def test_schema_of_mutation_options_and_numbers() -> None:
    op = Op(
        name="mixed",
        folder="",
        summary="",
        operands=(
            Operand(name="x", shape="n", dtype="float32", is_optional=True),
            Operand(name="pool", shape="n", dtype="float32", intent="inout"),
            Operand(name="bias", shape="n", dtype="float32", is_optional=True),
            Operand(name="y", shape="n", dtype="float32", intent="out"),
            Operand(name="z", shape="n", dtype="float32", intent="out"),
        ),
        scalars=(
            Scalar(name="layer", dtype="int32"),
            Scalar(name="window", dtype="int32", absent=9),
            Scalar(name="scale", dtype="float32", default=0.5),
            Scalar(name="flag", dtype="bool", default=False),
            Scalar(name="total", dtype="int64", value="n*2"),
        ),
        reference=lambda *_: None,
        choose=lambda _: "",
    )
    assert op.schema == (
        "mixed(Tensor? x, Tensor(a1!) pool, Tensor? bias=None, *, int layer, int? window=None, "
        "float scale=0.5, bool flag=False) -> (Tensor, Tensor)"
    )
    torch._C.parse_schema(op.schema)
