"""CUDA text becomes C++ text, line for line."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.kernel.backends.translation import (
    blank_hidden,
    dynamic_arrays,
    line_of,
    reads_volatile,
    rewrite_shared,
    translate,
    translate_headers,
)
from paged.kernel.source import KernelSource

NAME = '__asm__("paged_dynamic_shared")'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("extern __shared__ float x[];", f"extern __thread float x[] {NAME};"),
        ("extern  volatile __shared__ int x[ ] ;", f"extern __thread volatile int x[ ] {NAME};"),
        ("extern __shared__ int x[/*n*/];", f"extern __thread int x[/*n*/] {NAME};"),
        (
            "extern __shared__ __align__(16) char x[];",
            f"extern __thread __align__(16) char x[] {NAME};",
        ),
        (
            "extern __align__(sizeof(float4)) __shared__ float x[];",
            f"extern __thread __align__(sizeof(float4)) float x[] {NAME};",
        ),
        (
            "extern __attribute__((aligned(16))) __shared__ float x[];",
            f"extern __thread float x[] {NAME};",
        ),
        (
            "extern __shared__ float x[][8] __attribute__((aligned(16)));",
            f"extern __thread float x[][8] {NAME} __attribute__((aligned(16)));",
        ),
        ("__shared__ extern float x[];", f"extern __thread float x[] {NAME};"),
        (
            "__shared__ alignas(16) extern float x[];",
            f"alignas(16) extern __thread float x[] {NAME};",
        ),
        (
            "extern __shared__ char x[], y[][2];",
            f"extern __thread char x[] {NAME} , y[][2] {NAME};",
        ),
        (
            "#define D(T, n) extern __shared__ T n[]",
            f"#define D(T, n) extern __thread T n[] {NAME}",
        ),
        ("static __shared__ int x[4];", "__shared__ int x[4];"),
        ("__shared__ static int x[4];", "__shared__ int x[4];"),
        ("__shared__ int x[4];", "__shared__ int x[4];"),
        ("__shared__ alignas(16) T x[4];", "alignas(16) __shared__ T x[4];"),
        ("__shared__ alignas(a(b(1))) T x[4];", "alignas(a(b(1))) __shared__ T x[4];"),
        (
            "__shared__ alignas(16) [[maybe_unused]] static T x;",
            "alignas(16) [[maybe_unused]] __shared__ T x;",
        ),
        ("alignas(16) __shared__ T x[4];", "alignas(16) __shared__ T x[4];"),
        ("// extern __shared__ int x[];", "// extern __shared__ int x[];"),
        ('"extern __shared__ int x[];"', '"extern __shared__ int x[];"'),
        ("extern __shared__ int x;", "extern __shared__ int x;"),
    ],
)
def test_shared_declarations(text: str, expected: str) -> None:
    assert tokens(rewrite_shared(text)) == tokens(expected)


def tokens(text: str) -> list[str]:
    return text.replace(";", " ; ").split()


def test_lines_stay_where_they_are() -> None:
    text = (
        "a\nextern alignas(\n16) __shared__\n  float\n  x[];\nb\nstatic\n__shared__ int y;\n"
        "__shared__ alignas(\n16)\nint z;\nc"
    )
    assert rewrite_shared(text).count("\n") == text.count("\n")
    assert rewrite_shared(text).splitlines()[-1] == "c"


def test_comments_and_literals_are_blanked_in_place() -> None:
    text = 'a /* b\nc */ d // e\n"f\\"g" \'h\' 1\'000 R"x(i\n)x" j'
    code = blank_hidden(text)
    assert len(code) == len(text)
    assert code.split() == ["a", "d", "1'000", "j"]
    assert [i for i, c in enumerate(code) if c == "\n"] == [
        i for i, c in enumerate(text) if c == "\n"
    ]


def test_lines_are_counted_from_one() -> None:
    assert [line_of("a\nb\nc", offset) for offset in (0, 2, 4)] == [1, 2, 3]


def test_dynamic_arrays_are_named_by_their_namespaces() -> None:
    text = """
    extern __shared__ int one[];
    namespace a { namespace b::c { void f() { extern __shared__ int two[]; } }
    namespace { extern __shared__ int three[]; } }
    void g() { if (x) { extern __shared__ int four[], five [ ]; } }
    """
    assert dynamic_arrays(text) == [
        "one",
        "_ZN1a1b1c3twoE",
        "_ZN1a12_GLOBAL__N_15threeE",
        "four",
        "five",
    ]


def test_a_source_is_prelude_text_and_a_launcher_for_each_entry() -> None:
    source = KernelSource(
        name="k",
        text="__global__ void k() { extern __shared__ int x[]; }",
        prelude="struct Params {};",
        entries=("k", "t<int, 4>"),
    )
    lines = translate(source).splitlines()
    assert lines[:2] == ["struct Params {};", '#line 1 "<k>"']
    text = "\n".join(lines)
    assert "paged_interpret::call(&k, a)" in text
    assert "paged_interpret::call(&t<int, 4>, a)" in text
    assert "paged_dynamic_shared_address" in text


def test_macros_come_behind_cudas_headers_and_before_the_prelude() -> None:
    source = KernelSource(
        name="k",
        text="#include <cuda_fp16.h>\n#include <absent.h>\n",
        prelude="T x;",
        defines=(("T", "float"), ("N", "4")),
        entries=("k",),
    )
    lines = translate(source).splitlines()
    assert lines[:4] == ["#include <cuda_fp16.h>", "#define T float", "#define N 4", "T x;"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("volatile int* flag;", True),
        ("int volatile flag;", True),
        ('asm volatile("bar.sync 0;");', False),
        ('asm volatile ("" :::);', False),
        ("// volatile int* flag;", False),
        ("int volatiles;", False),
    ],
)
def test_volatile_memory_is_told_from_assembly(tmp_path: Path, text: str, expected: bool) -> None:
    assert reads_volatile(KernelSource(name="k", text=text, entries=("k",))) == expected
    (tmp_path / "k.cuh").write_text(text)
    including = KernelSource(
        name="k", text='#include "k.cuh"', entries=("k",), include_dirs=(tmp_path,)
    )
    assert reads_volatile(including) == expected


def test_a_source_without_dynamic_shared_memory_has_none() -> None:
    source = KernelSource(name="k", text="__global__ void k() {}", entries=("k",))
    assert "paged_dynamic_shared" not in translate(source)


def test_headers_are_rewritten_where_they_declare_shared_memory(tmp_path: Path) -> None:
    (tmp_path / "plain.cuh").write_text("int x;\n")
    (tmp_path / "shared.cuh").write_text("extern __shared__ int y[];\n")
    plain = KernelSource(
        name="k", text='#include "plain.cuh"\n', entries=("k",), include_dirs=(tmp_path,)
    )
    assert translate_headers(plain) == {}
    both = KernelSource(
        name="k",
        text='#include "plain.cuh"\n#include "shared.cuh"\n',
        entries=("k",),
        include_dirs=(tmp_path,),
    )
    headers = translate_headers(both)
    assert headers["plain.cuh"] == '#line 1 "plain.cuh"\nint x;\n'
    assert NAME in headers["shared.cuh"]
