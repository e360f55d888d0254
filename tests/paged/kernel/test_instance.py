"""Sources with types and constants chosen, and launches with their geometry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from paged.errors import KernelSourceError, OperandError
from paged.kernel.binding import bind
from paged.kernel.instance import instantiate, requests
from paged.kernel.spec import KernelSpec, Launch, Operand

SPEC = KernelSpec(
    name="halve",
    source="template <class T, int N> __global__ void halve(const T* x, float* y) {}",
    launches=(
        Launch(entry="halve<{t}, {n}>", grid=("cdiv(rows, 2)", "n"), block=32, shared_bytes="4*n"),
        Launch(entry="halve<{t}, {n}>", grid="rows", block=("8", 4, 2)),
    ),
    operands=(
        Operand(name="x", shape="rows n", dtype="t"),
        Operand(name="y", shape="rows", dtype="float32", intent="out"),
    ),
    types={"t": ("float32", "float16", "float8_e4m3fn")},
    constants=("n",),
)


def test_macros_and_entries_follow_from_types_and_constants() -> None:
    source = instantiate(SPEC, {"t": "float16"}, {"rows": 3, "n": 5})
    assert source.defines == ()
    assert source.entries == ("halve<__half, 5>",)
    launches = (replace(SPEC.launches[0], entry="halve<{t}>"),)
    macros = replace(SPEC, launches=launches, passing="struct")
    assert instantiate(macros, {"t": "float16"}, {"n": 5}).defines == (("N", "5"),)
    assert source.prelude == "#include <cuda_fp16.h>\n"
    assert "struct HalveParams" in instantiate(
        replace(SPEC, passing="struct"), {"t": "float32"}, {"rows": 3, "n": 5}
    ).prelude  # fmt: skip


def test_geometry() -> None:
    first, second = requests(bind(SPEC, [torch.zeros(5, 6)], {}))
    assert (first.grid, first.block, first.shared_bytes) == ((3, 6, 1), (32, 1, 1), 24)
    assert (second.grid, second.block, second.shared_bytes) == ((5, 1, 1), (8, 4, 2), 0)
    assert first.entry == "halve<float, 6>"
    assert first.arguments is second.arguments
    assert not first.is_empty
    assert all(r.is_empty for r in requests(bind(SPEC, [torch.zeros(0, 6)], {})))


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        ({"block": 1025}, "block"),
        ({"block": (512, 4)}, "1 to 1024 threads, got 512x4x1"),
        ({"block": 0}, "1 to 1024 threads, got 0"),
        ({"grid": (1, 65536)}, r"grid \(1, 65536\)"),
        ({"grid": "rows - 9"}, "-4"),
        ({"shared_bytes": "rows - 9"}, "shared bytes rows - 9 must be at least 0, got -4"),
        ({"entry": "halve<{u}>"}, "'u'"),
        ({"entry": "halve<{rows}>"}, "'rows'"),
    ],
)
def test_impossible_launches_are_refused(launch: dict[str, Any], reason: str) -> None:
    spec = replace(SPEC, launches=(replace(SPEC.launches[0], **launch),))
    with pytest.raises((OperandError, KernelSourceError), match=reason):
        requests(bind(spec, [torch.zeros(5, 6)], {}))


def test_hash_covers_what_decides_the_code(tmp_path: Path) -> None:
    header = tmp_path / "part.cuh"
    header.write_text("// one")
    file = tmp_path / "kernel.cu"
    file.write_text('#include "part.cuh"\n')
    spec = replace(SPEC, source=file)

    def hashed(dtype: str, n: int) -> str:
        return instantiate(spec, {"t": dtype}, {"rows": 1, "n": n}).content_hash

    first = hashed("float32", 4)
    assert hashed("float32", 4) == first
    assert hashed("float16", 4) != first
    assert hashed("float32", 5) != first
    header.write_text("// two")
    assert hashed("float32", 4) != first
