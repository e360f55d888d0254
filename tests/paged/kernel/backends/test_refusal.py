"""What cannot be interpreted is refused by name, with its line, before compilation."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from paged.errors import UnsupportedFeature
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.backends.refusal import ARCHS, interpreted_arch
from paged.kernel.source import KernelSource
from tests.helpers.cuda_launch import Memory, launch


def source_of(text: str, *folders: Path) -> KernelSource:
    return KernelSource(name="k", text=text, entries=("k",), include_dirs=folders)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('asm volatile("bar.sync 0;");', "inline assembly; use portable.cuh"),
        ('__asm__("");', "inline assembly"),
        ("child<<<1, 1>>>();", "a launch from device code"),
        ("float v = tex2D<float>(t, x, y);", "textures and surfaces"),
        ("cudaTextureObject_t t;", "textures and surfaces"),
        ("auto c = cooperative_groups::this_cluster();", "clusters"),
        ("cooperative_groups::this_grid().sync();", "a barrier of the whole grid"),
        ("__managed__ int x;", "managed variables"),
        ("nvcuda::wmma::fragment<int> f;", "the wmma namespace"),
        ("cub::BlockReduce<int, 4> r;", "CUB"),
        ("#include <cub/cub.cuh>", "CUB"),
        ("#include <thrust/sort.h>", "Thrust"),
        ("#include <cuda/barrier>", "the libcu++ namespace"),
        ("cuda::pipeline<> p;", "the libcu++ namespace"),
        ("CUtensorMap map;", "tensor maps"),
        ("cudaMalloc(&p, 4);", "the CUDA runtime's host functions"),
        ("#include <cutlass/gemm.h>", "CUTLASS"),
        ("__barrier_sync(1);", "named barriers"),
        ("if (__isConstant(p)) return;", "the space of constants"),
        ("if (__isGridConstant(p)) return;", "the space of constants"),
        ("#include <cuda_fp4.h>", "floats of 4 and 6 bits"),
        ("__nv_fp8_e8m0 scale;", "floats of 4 and 6 bits and powers of two"),
    ],
)
def test_each_feature_is_named_with_its_line(line: str, expected: str) -> None:
    source = source_of(f"\n// asm(\n{line}\n")
    with pytest.raises(UnsupportedFeature) as caught:
        interpreted_arch(source, lambda _: None)
    assert f"<k>:3: {expected}" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "// asm",
        '"asm"',
        "/* cub:: */",
        "int asmx;",
        "#include <cuda/std/cstdint>",
        "cudaStream_t(p)",
    ],
)
def test_comments_literals_and_other_names_pass(text: str) -> None:
    assert interpreted_arch(source_of(text), lambda _: pytest.fail("nothing was found")) == ARCHS[0]


def test_headers_are_searched_but_for_the_portable_one(tmp_path: Path) -> None:
    (tmp_path / "portable.cuh").write_text('asm("");')
    (tmp_path / "mine.cuh").write_text('\nasm("");')
    interpreted_arch(source_of('#include "portable.cuh"', tmp_path), lambda _: None)
    with pytest.raises(UnsupportedFeature, match=r"mine\.cuh:2: inline assembly"):
        interpreted_arch(source_of('#include "mine.cuh"', tmp_path), lambda _: None)


GUARDED = """
__global__ void k(int* out) {
#ifdef PAGED_INTERPRET
    *out = 1;
#else
    asm("never");
#endif
}
"""


def test_what_stands_under_a_condition_that_does_not_hold_passes() -> None:
    InterpretBackend(InterpretConfig()).build(source_of(GUARDED))


def test_the_line_under_a_condition_that_holds_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="<k>:6: inline assembly"):
        InterpretBackend(InterpretConfig()).build(source_of(GUARDED.replace("ifdef", "ifndef")))


BY_ARCH = """
__device__ int twice(int x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= NEEDED
    int y;
    asm("add.s32 %0, %1, %1;" : "=r"(y) : "r"(x));
    return y;
#else
    return x + x + __CUDA_ARCH__;
#endif
}
__global__ void k(int* out) { *out = twice(4); }
"""


@pytest.mark.parametrize(
    ("needed", "arch"), [(900, 800), (800, 750), (750, 700), (610, 600), (530, 520), (810, 800)]
)
def test_of_code_by_architecture_what_can_be_interpreted_runs(needed: int, arch: int) -> None:
    source = source_of(BY_ARCH.replace("NEEDED", str(needed)))
    program = InterpretBackend(InterpretConfig()).build(source)
    out = torch.zeros(1, dtype=torch.int32)
    launch(program, "k", Memory("out", out), grid=1, block=1)
    assert out.item() == 8 + arch


def test_code_that_no_architecture_is_without_is_refused() -> None:
    source = source_of(BY_ARCH.replace("NEEDED", "500"))
    with pytest.raises(UnsupportedFeature, match="<k>:5: inline assembly"):
        InterpretBackend(InterpretConfig()).build(source)
    refusing = source_of(BY_ARCH.replace("NEEDED", "800").replace("#else", "#else\n#error old"))
    with pytest.raises(UnsupportedFeature, match="<k>:5: inline assembly"):
        InterpretBackend(InterpretConfig()).build(refusing)


def test_a_header_of_its_own_architectures_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "fast.cuh").write_text('__device__ void fast() { asm("exit;"); }\n')
    text = """
#if __CUDA_ARCH__ >= 800
#include <cuda/barrier>
#include "fast.cuh"
#endif
__global__ void k() {}
"""
    InterpretBackend(InterpretConfig()).build(source_of(text, tmp_path))


def test_a_macro_is_refused_where_it_is_used() -> None:
    text = """
#define BARRIER asm volatile("bar.sync 0;")
#define UNUSED cudaMalloc(0, 0)
extern __shared__ int words[];
__global__ void k(int* out) {
    *out = words[0];
    /* two
       lines */ BARRIER;
}
"""
    with pytest.raises(UnsupportedFeature) as caught:
        InterpretBackend(InterpretConfig()).build(source_of(text))
    assert "<k>:8: inline assembly" in str(caught.value)
    assert str(caught.value).count("\n") == 1
    InterpretBackend(InterpretConfig()).build(source_of(text.replace("BARRIER;", "")))
