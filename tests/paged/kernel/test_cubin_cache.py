"""What was compiled is found again, and only that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paged.errors import BackendUnavailable, KernelCompileError
from paged.kernel import nvrtc
from paged.kernel.cubin_cache import cubin, keep, key
from paged.kernel.nvrtc import Cubin
from paged.kernel.source import KernelSource
from tests.helpers.cuda_sources import copy_source, needs_nvrtc, scale_source

pytestmark = needs_nvrtc

Compiled = list[str]


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiled:
    """Use an empty cache, and list the names of the sources compiled since."""
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path / "cache"))
    names: Compiled = []
    compile_really: Callable[[KernelSource, str], Cubin] = nvrtc.compile_cubin

    def compile_and_note(source: KernelSource, arch: str) -> Cubin:
        names.append(source.name)
        return compile_really(source, arch)

    monkeypatch.setattr(nvrtc, "compile_cubin", compile_and_note)
    return names


def test_the_second_call_compiles_nothing_and_returns_the_same(compiled: Compiled) -> None:
    first = cubin(scale_source(), "sm_80")
    assert cubin(scale_source(), "sm_80") == first
    assert compiled == ["scale"]


def test_the_kept_file_is_the_image_itself(compiled: Compiled) -> None:
    kept = keep(copy_source(), "sm_80")
    assert kept.path.read_bytes() == kept.cubin.image
    assert kept.path.suffix == ".cubin"


@pytest.mark.parametrize(
    "change",
    [
        {"text": copy_source().text + "\n"},
        {"prelude": "struct Params {};\n"},
        {"defines": (("HEAD_DIM", "64"),)},
        {"entries": ("copy_float4", "copy_float4")},
        {"path": Path("other.cu")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_code_or_its_messages_changes_the_key(
    change: dict[str, object],
) -> None:
    assert key(replace(copy_source(), **change), "sm_80") != key(copy_source(), "sm_80")


def test_the_name_alone_does_not_change_the_key_of_a_file() -> None:
    source = replace(copy_source(), path=Path("copy.cu"))
    assert key(replace(source, name="renamed"), "sm_80") == key(source, "sm_80")


def test_each_architecture_has_its_own_key() -> None:
    assert len({key(copy_source(), arch) for arch in nvrtc.ARCHS}) == len(nvrtc.ARCHS)


def test_a_changed_header_is_compiled_again(compiled: Compiled, tmp_path: Path) -> None:
    (tmp_path / "inner.cuh").write_text("#define VALUE 1\n")
    (tmp_path / "outer.cuh").write_text('#include "inner.cuh"\n')

    def source() -> KernelSource:
        text = '#include "outer.cuh"\n__global__ void k(int* x) { *x = VALUE; }\n'
        return KernelSource(name="k", text=text, path=tmp_path / "k.cu", entries=("k",))

    first = cubin(source(), "sm_80")
    (tmp_path / "inner.cuh").write_text("#define VALUE 2\n")
    assert cubin(source(), "sm_80").image != first.image
    assert compiled == ["k", "k"]


def test_a_changed_standard_header_of_ours_changes_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvrtc, "SHIM_DIR", tmp_path)
    (tmp_path / "cmath").write_text("// one\n")
    before = key(copy_source(), "sm_80")
    (tmp_path / "cmath").write_text("// two\n")
    assert key(copy_source(), "sm_80") != before


@pytest.mark.parametrize("suffix", [".cubin", ".json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"not what was written"])
def test_a_damaged_entry_is_compiled_again(compiled: Compiled, suffix: str, content: bytes) -> None:
    kept = keep(copy_source(), "sm_80")
    kept.path.with_suffix(suffix).write_bytes(content)
    assert keep(copy_source(), "sm_80") == kept
    assert compiled == ["copy", "copy"]
    assert keep(copy_source(), "sm_80") == kept
    assert compiled == ["copy", "copy"]


@pytest.mark.parametrize("suffix", [".cubin", ".json"])
def test_half_an_entry_is_compiled_again(compiled: Compiled, suffix: str) -> None:
    kept = keep(copy_source(), "sm_80")
    kept.path.with_suffix(suffix).unlink()
    assert keep(copy_source(), "sm_80") == kept
    assert compiled == ["copy", "copy"]


def test_a_refusal_is_not_kept(compiled: Compiled, tmp_path: Path) -> None:
    source = replace(copy_source(), text="no C++")
    for _ in range(2):
        with pytest.raises(KernelCompileError):
            cubin(source, "sm_80")
    assert compiled == ["copy", "copy"]
    assert list((tmp_path / "cache" / "cuda").iterdir()) == []


def test_a_folder_deleted_in_use_is_filled_again(compiled: Compiled, tmp_path: Path) -> None:
    kept = keep(copy_source(), "sm_80")
    shutil.rmtree(tmp_path / "cache")
    assert keep(copy_source(), "sm_80") == kept
    assert kept.path.is_file()
    assert compiled == ["copy", "copy"]


def test_a_folder_that_cannot_be_written_is_an_error_with_advice(
    compiled: Compiled, tmp_path: Path
) -> None:
    kept = keep(copy_source(), "sm_80")
    kept.path.unlink()
    kept.path.mkdir()
    with pytest.raises(BackendUnavailable, match="set PAGED_CACHE_DIR to a writable folder"):
        keep(copy_source(), "sm_80")
    assert compiled == ["copy", "copy"]


def test_two_processes_may_compile_the_same_at_once(tmp_path: Path) -> None:
    program = (
        "from paged.kernel.cubin_cache import keep\n"
        "from tests.helpers.cuda_sources import scale_source\n"
        "import hashlib\n"
        "kept = keep(scale_source(), 'sm_80')\n"
        "print(hashlib.sha256(kept.path.read_bytes()).hexdigest(), kept.cubin.symbols)\n"
    )
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PAGED_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(root)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [process.communicate()[0] for process in running]
    assert said[0] == said[1] != ""
    assert sorted(path.suffix for path in (tmp_path / "cuda").iterdir()) == [".cubin", ".json"]
