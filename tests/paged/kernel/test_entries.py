"""Entries that no kernel can be are named beside those that there are."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from paged.errors import KernelCompileError
from paged.kernel import KernelSpec, Launch, Operand, kernel_call
from paged.kernel.entries import entry_hints, kernels_in
from paged.kernel.nvrtc import compile_cubin
from paged.kernel.source import KernelSource
from tests.helpers.cuda_sources import needs_nvrtc

TEXT = """
// __global__ void hidden(float* x) {}
__device__ float twice(float x) { return x + x; }
extern "C" __global__ void plain(float* x) { *x = twice(*x); }
namespace mine {
template <class T, int N = max(1, 2)>
__global__ void __launch_bounds__(max(32, 64), 2)
    scale_rows(T* x) { *x *= N; }
}
__global__ __launch_bounds__(32) void scale_columns(float* x) {}
"""


def source(*entries: str, text: str = TEXT) -> KernelSource:
    return KernelSource(name="k", text=text, entries=entries)


def test_kernels_are_found_with_their_kind() -> None:
    assert kernels_in(source()) == {"plain": False, "scale_rows": True, "scale_columns": False}


def test_kernels_of_headers_count(tmp_path: Path) -> None:
    (tmp_path / "scale.cuh").write_text("__global__ void scale(float* x) {}")
    here = KernelSource(
        name="k", text='#include "scale.cuh"\n', entries=("scal",), include_dirs=(tmp_path,)
    )
    assert entry_hints(here) == "no kernel 'scal' in <k>; it has scale\n"


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("plain", ""),
        ("::plain", ""),
        ("mine::scale_rows<float, 3>", ""),
        ("scale_row<float>", "no kernel 'scale_row' in <k>; it has scale_rows, scale_columns, pla"),
        ("twice", "no kernel 'twice' in <k>"),
        ("plain<float>", "entry 'plain<float>' has template arguments, and kernel 'plain' is no"),
        ("mine::scale_rows", "kernel 'scale_rows' is a template; the entry must name its argument"),
    ],
)
def test_hints(entry: str, hint: str) -> None:
    assert entry_hints(source(entry)).startswith(hint)
    assert bool(entry_hints(source(entry))) == bool(hint)


def test_a_source_without_kernels_is_told_what_one_is() -> None:
    hint = entry_hints(source("f", text="void f() {}"))
    assert hint == "no kernel 'f' in <k>; it has none: a kernel is declared __global__\n"


def test_kernels_of_macros_are_left_to_the_compiler() -> None:
    text = "#define KERNEL(f) \\\n  __global__ void f() {}\nKERNEL(scale)\n"
    assert entry_hints(source("scal", text=text)) == ""


def test_the_interpreter_gives_the_hint() -> None:
    spec = KernelSpec(
        name="k",
        source=TEXT,
        launches=(Launch(entry="plane", grid=1, block=1),),
        operands=(Operand(name="x", shape="n", dtype="float32", intent="inout"),),
        parameters=("x",),
    )
    with pytest.raises(KernelCompileError, match="no kernel 'plane' in <k>; it has plain,"):
        kernel_call(spec, torch.zeros(1), interpret=True)


@needs_nvrtc
def test_nvrtc_gives_the_hint() -> None:
    with pytest.raises(KernelCompileError, match="no kernel 'plane' in <k>; it has plain,"):
        compile_cubin(source("plane"), "sm_80")
