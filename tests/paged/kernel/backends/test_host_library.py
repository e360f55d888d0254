"""The library of host kernels: compiled once, for any level, with errors that show the compiler."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from paged.errors import BackendUnavailable, KernelCompileError
from paged.kernel.backends import host_library
from paged.kernel.backends.host_level import LEVELS, HostLevel
from paged.kernel.backends.host_library import build_host_library

TINY = 'extern "C" __attribute__((visibility("default"))) int paged_host_one() { return 1; }\n'


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a host folder of one file, and a cache of its own."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "one.cpp").write_text(TINY)
    monkeypatch.setattr(host_library, "HOST_DIR", folder)
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def test_a_library_is_compiled_once_and_again_when_a_file_changes(
    sources: Path, caplog: pytest.LogCaptureFixture
) -> None:
    level = LEVELS["baseline"]
    first = build_host_library(level)
    written_ns = first.stat().st_mtime_ns
    assert build_host_library(level) == first
    assert first.stat().st_mtime_ns == written_ns
    said = "compiling the native kernels for this CPU (baseline), once: "
    assert [record.message.startswith(said) for record in caplog.records] == [True]
    (sources / "one.cpp").write_text(TINY.replace("return 1", "return 2"))
    assert build_host_library(level) != first


def test_a_program_that_handles_no_logs_says_on_standard_error_that_it_compiles(
    sources: Path,
) -> None:
    code = (
        "import logging; from pathlib import Path; from paged.kernel.backends import host_library"
        f"\nhost_library.HOST_DIR = Path({str(sources)!r})\n"
        "from paged.kernel.backends.host_level import LEVELS\n"
        "host_library.build_host_library(LEVELS['baseline'])\n"
        "logging.getLogger('paged').setLevel('ERROR')\n"
        "host_library.build_host_library(LEVELS['avx2'])\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    assert line.startswith("compiling the native kernels for this CPU (baseline), once: ")


def test_a_damaged_library_is_compiled_again(sources: Path) -> None:
    level = LEVELS["baseline"]
    path = build_host_library(level)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert build_host_library(level) == path
    assert len(path.read_bytes()) > len(whole) // 2


def test_the_compilers_own_text_is_shown(sources: Path) -> None:
    (sources / "wrong.cpp").write_text("int main() { return no_such_name; }")
    with pytest.raises(KernelCompileError, match="no_such_name"):
        build_host_library(LEVELS["baseline"])


@pytest.mark.usefixtures("sources")
def test_without_a_compiler_a_new_library_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BackendUnavailable, match="no-such-compiler"):
        build_host_library(LEVELS["baseline"])


@pytest.mark.usefixtures("sources")
def test_without_a_temporary_folder_a_new_library_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(BackendUnavailable, match="set TMPDIR to a writable folder with room"):
        build_host_library(LEVELS["baseline"])


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
def test_every_level_compiles_on_any_cpu(level: HostLevel) -> None:
    assert build_host_library(level).is_file()
