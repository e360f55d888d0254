"""Sources become cubins without a device; refusals speak of the author's own lines."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from paged.errors import KernelCompileError
from paged.kernel.nvrtc import ARCHS, compile_cubin, load, supported_archs, translation_unit
from paged.kernel.source import KernelSource
from tests.helpers.cuda_sources import copy_source, needs_nvrtc, scale_source

pytestmark = needs_nvrtc


def kernel(text: str, **changes: object) -> KernelSource:
    """Return a source whose only entry is `k`."""
    return replace(KernelSource(name="k", text=text, entries=("k",)), **changes)


@pytest.mark.parametrize("arch", ARCHS)
def test_every_architecture_compiles_to_an_elf_file(arch: str) -> None:
    cubin = compile_cubin(copy_source(), arch)
    assert cubin.arch == arch
    assert cubin.image.startswith(b"\x7fELF")


def test_hoppers_own_instructions_need_the_architecture_with_an_a() -> None:
    source = kernel('__global__ void k() { asm volatile("setmaxnreg.inc.sync.aligned.u32 96;"); }')
    compile_cubin(source, "sm_90a")
    with pytest.raises(KernelCompileError, match=r"not supported on \.target 'sm_90'"):
        compile_cubin(source, "sm_90")


def test_template_entries_have_their_mangled_names() -> None:
    cubin = compile_cubin(scale_source(), "sm_80")
    assert cubin.symbol("scale<float, 64>") == "_Z5scaleIfLi64EEvPT_f"
    assert cubin.symbol("scale<float, 128>").encode() in cubin.image


def test_macros_and_prelude_are_seen() -> None:
    source = kernel(
        "__global__ void k(Params p) { *p.x = FACTOR; }",
        prelude="struct Params { int* x; };\n",
        defines=(("FACTOR", "7"),),
    )
    assert compile_cubin(source, "sm_80").image != b""


def test_headers_beside_the_file_and_in_the_named_folders_are_seen(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "outer.cuh").write_text('#include "inner.cuh"\n')
    (tmp_path / "shared" / "inner.cuh").write_text("#define VALUE 3\n")
    source = kernel(
        '#include "outer.cuh"\n__global__ void k(int* x) { *x = VALUE; }\n',
        path=tmp_path / "k.cu",
        include_dirs=(tmp_path / "shared",),
    )
    compile_cubin(source, "sm_80")


def test_an_error_carries_label_and_line_of_the_text_not_of_what_is_compiled() -> None:
    source = kernel("\n\n__global__ void k() { missing(); }", prelude="struct A {};\n")
    with pytest.raises(KernelCompileError) as raised:
        compile_cubin(source, "sm_80")
    assert '<k>(3): error: identifier "missing" is undefined' in str(raised.value)
    assert "for sm_80" in str(raised.value)


def test_an_error_in_the_prelude_says_so() -> None:
    source = kernel("__global__ void k() {}", prelude="\nint = 3;\n")
    with pytest.raises(KernelCompileError, match=r"<prelude of k>\(2\): error"):
        compile_cubin(source, "sm_80")


def test_a_label_with_quotes_and_backslashes_stays_one_label() -> None:
    source = kernel("int = 3;", path=Path('odd "name\\.cu'))
    assert '#line 1 "odd \\"name\\\\.cu"' in translation_unit(source)
    with pytest.raises(KernelCompileError, match="error: expected an identifier"):
        compile_cubin(source, "sm_80")


def test_an_entry_that_is_not_there_is_named() -> None:
    with pytest.raises(KernelCompileError, match=r'"k" is undefined'):
        compile_cubin(kernel("__global__ void other() {}"), "sm_80")


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(KernelCompileError, match="gpu-architecture"):
        compile_cubin(copy_source(), "sm_77")


def test_the_compiler_lists_its_architectures_oldest_first() -> None:
    archs = supported_archs()
    assert {"sm_80", "sm_90", "sm_100"} <= set(archs)
    assert [int(arch[3:]) for arch in archs] == sorted(int(arch[3:]) for arch in archs)


def test_threads_may_compile_at_once() -> None:
    with ThreadPoolExecutor(2) as pool:
        images = list(pool.map(lambda arch: compile_cubin(copy_source(), arch), ARCHS[:4]))
    assert [cubin.arch for cubin in images] == list(ARCHS[:4])


def test_builtins_are_loaded_from_beside_the_library_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("libnvrtc.so.13", "libnvrtc.alt.so.13", "libnvrtc-builtins.so.13.0"):
        (tmp_path / name).touch()
    opened: list[str] = []

    def open_library(path: str) -> SimpleNamespace:
        opened.append(path)
        return SimpleNamespace(nvrtcGetErrorString=SimpleNamespace())

    monkeypatch.setattr(ctypes, "CDLL", open_library)
    load(tmp_path / "libnvrtc.so.13")
    assert [Path(path).name for path in opened] == ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"]
