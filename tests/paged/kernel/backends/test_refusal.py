"""What cannot be interpreted is refused by name, with its line, before compilation."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.errors import UnsupportedFeature
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.backends.refusal import refuse
from paged.kernel.source import KernelSource


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
    ],
)
def test_each_feature_is_named_with_its_line(line: str, expected: str) -> None:
    source = source_of(f"\n// asm(\n{line}\n")
    with pytest.raises(UnsupportedFeature) as caught:
        refuse(source, lambda: None)
    assert f"<k>:3: {expected}" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["// asm", '"asm"', "/* cub:: */", "int asmx;", "#include <cuda/std/cstdint>"]
)
def test_comments_literals_and_other_names_pass(text: str) -> None:
    refuse(source_of(text), lambda: pytest.fail("nothing was found"))


def test_headers_are_searched_but_for_the_portable_one(tmp_path: Path) -> None:
    (tmp_path / "portable.cuh").write_text('asm("");')
    (tmp_path / "mine.cuh").write_text('\nasm("");')
    refuse(source_of('#include "portable.cuh"', tmp_path), lambda: None)
    with pytest.raises(UnsupportedFeature, match=r"mine\.cuh:2: inline assembly"):
        refuse(source_of('#include "mine.cuh"', tmp_path), lambda: None)


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
