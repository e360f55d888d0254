"""Sources are compiled once, by content, and their kernels found by entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.cache_dir import cache_dir
from paged.errors import KernelCompileError, KernelSourceError
from paged.kernel.backends import kernel_library
from paged.kernel.backends.host_compiler import HostCompiler, find_compiler
from paged.kernel.backends.kernel_library import KernelLibrary, build_library
from paged.kernel.backends.runtime_library import load_runtime
from paged.kernel.source import KernelSource

TEXT = "template <class T> __global__ void k(T* out, char x, double y, short z) { *out = x; }\n"


def build(source: KernelSource, optimize: str = "-O1") -> KernelLibrary:
    compiler = find_compiler()
    return build_library(source, compiler, load_runtime(compiler), optimize)


def source_of(text: str = TEXT, *entries: str, **more: object) -> KernelSource:
    return KernelSource(name="k", text=text, entries=entries or ("k<int>",), **more)  # type: ignore[arg-type]


def test_kernels_know_the_sizes_of_their_parameters() -> None:
    library = build(source_of(TEXT, "k<int>", "k<char>"))
    assert library.kernel("k<int>").parameter_bytes == (8, 1, 8, 2)
    assert library.kernel("k<int>").address != library.kernel("k<char>").address


def test_kernels_know_the_sizes_of_their_shared_arrays() -> None:
    text = """
    extern __shared__ int dynamic[];
    template <class T> __global__ void one(int* p) {
      __shared__ T low[64];
      __shared__ T high[3];
      low[threadIdx.x] = high[threadIdx.x % 3] = p[0];
      __syncthreads();
      p[threadIdx.x] = low[63] + high[1];
    }
    extern "C" __global__ void two(int* p) {
      __shared__ short x[2];
      x[threadIdx.x & 1] = 1;
      dynamic[threadIdx.x] = x[0];
      p[threadIdx.x] = dynamic[1];
    }
    """
    entries = ("one<int>", "one<double>", "two")
    library = build(KernelSource(name="k", text=text, entries=entries))
    # of two instances the smaller counts
    assert [library.kernel(each).static_shared_bytes for each in entries] == [67 * 4, 67 * 4, 4]


def test_an_entry_that_was_not_built_is_an_error() -> None:
    with pytest.raises(KernelSourceError, match="no entry 'k<float>' in k: it has k<int>"):
        build(source_of()).kernel("k<float>")


def test_a_source_without_entries_is_an_error() -> None:
    with pytest.raises(KernelSourceError, match="expected at least one entry"):
        build(KernelSource(name="k", text=TEXT, entries=()))


@pytest.mark.parametrize(
    "text",
    [
        "int f() { while (true); } __device__ int z = f();",
        "struct S { S() { *(volatile int*)0 = 1; } } s;",
        "struct S { ~S() { *(volatile int*)0 = 1; } } s;",
        "__attribute__((constructor)) static void f() { abort(); }",
    ],
)
def test_a_source_that_would_run_when_it_is_loaded_is_refused(text: str) -> None:
    with pytest.raises(KernelSourceError, match="takes code to compute"):
        build(source_of(f"{text}\n__global__ void k(int* p) {{ *p = 1; }}", "k"))


def test_variables_with_constant_values_are_no_code() -> None:
    text = "__device__ int z = 3; constexpr int f() { return 4; } __device__ int y = f();"
    build(source_of(f"{text}\n__global__ void k(int* p) {{ *p = z + y; }}", "k"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n\n__global__ void k() { return undeclared; }", "<k>:3:"),
        ("__global__ void other() {}", "<entries>"),
        ('static_assert(VALUE == 3, "value");', "value"),
        ("__device__ int absent(); __global__ void k(int* p) { *p = absent(); }", "`absent()'"),
    ],
)
def test_a_refused_source_gives_the_compilers_own_text(text: str, expected: str) -> None:
    source = source_of(text, "k", defines=(("VALUE", "2"),))
    with pytest.raises(KernelCompileError) as caught:
        build(source)
    assert expected in str(caught.value)


def test_a_macro_may_be_named_as_something_inside_our_headers() -> None:
    text = "#include <cuda_bf16.h>\n__global__ void k(T* out) { *out = N + A; }\n"
    defines = (("T", "__nv_bfloat16"), ("N", "1.0f"), ("A", "1.0f"))
    assert build(source_of(text, "k", defines=defines)).kernel("k").parameter_bytes == (8,)


def test_equal_content_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path))
    compiled: list[str] = []
    compile_text = HostCompiler.compile

    def count(self: HostCompiler, *arguments: object) -> object:
        compiled.append("once")
        return compile_text(self, *arguments)  # type: ignore[arg-type]

    loaded = load_runtime(find_compiler())
    monkeypatch.setattr(HostCompiler, "compile", count)
    for expected, source, optimize in (
        (1, source_of(), "-O1"),
        (1, source_of(), "-O1"),
        (2, source_of(), "-O2"),
        (3, source_of(TEXT + "// changed"), "-O1"),
        (4, source_of(TEXT, "k<int>", defines=(("A", "1"),)), "-O1"),
    ):
        build_library(source, find_compiler(), loaded, optimize)
        assert len(compiled) == expected


@pytest.mark.parametrize("num_kept_bytes", [0, 100, 8192])
def test_a_damaged_library_is_compiled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_kept_bytes: int
) -> None:
    text = f"__global__ void k(int* out) {{ *out = {num_kept_bytes}; }}"
    compiler = find_compiler()
    loaded = load_runtime(compiler)
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path))
    path = build_library(source_of(text, "k"), compiler, loaded, "-O1").loaded.path
    whole = path.read_bytes()
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path / "other"))
    damaged = cache_dir("interpret") / path.name
    damaged.write_bytes(whole[:num_kept_bytes])
    library = build_library(source_of(text, "k"), compiler, loaded, "-O1")
    assert library.loaded.path == damaged
    assert library.kernel("k").parameter_bytes == (8,)
    assert len(damaged.read_bytes()) == len(whole)


def test_a_changed_header_of_the_interpreter_compiles_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path))
    first = build(source_of()).loaded.path
    monkeypatch.setattr(kernel_library, "header_fingerprint", lambda: "other")
    assert build(source_of()).loaded.path != first


def test_quoted_headers_lie_beside_the_source_or_in_its_folders(tmp_path: Path) -> None:
    (tmp_path / "own.cuh").write_text("#define OWN 1\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.cuh").write_text("extern __shared__ int tile[];\n")
    text = """
#include "own.cuh"
#define OTHER "other.cuh"
#include OTHER
__global__ void k(int* p) { *p = tile[OWN]; }
"""
    path = tmp_path / "k.cu"
    path.write_text(text)
    source = source_of(text, "k", path=path, include_dirs=(tmp_path / "more",))
    assert build(source).kernel("k").parameter_bytes == (8,)
