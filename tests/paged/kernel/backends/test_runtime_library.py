"""The runtime is compiled once, beside its server, and told apart by its sources."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from paged.cache_dir import cache_dir
from paged.errors import KernelCompileError
from paged.kernel.backends import runtime_library
from paged.kernel.backends.host_compiler import HostCompiler, find_compiler
from paged.kernel.backends.runtime_library import INTERPRET_DIR, load_runtime
from paged.kernel.backends.structures import (
    Control,
    Finding,
    Findings,
    Module,
    Operand,
    Region,
    Report,
    Request,
)
from tests.helpers.checked_files import is_whole

LAYOUTS = (Control, Finding, Findings, Module, Operand, Region, Report, Request)
INCLUDES = """
#include "runtime/control.h"
#include "runtime/findings.h"
using namespace paged_interpret;
"""


def test_the_runtime_is_loaded_once() -> None:
    loaded = load_runtime(find_compiler())
    assert load_runtime(find_compiler()) is loaded
    assert loaded.path.is_file()


def test_the_server_can_be_run() -> None:
    loaded = load_runtime(find_compiler())
    servers = list(loaded.path.parent.glob("paged_server_*"))
    assert any(os.access(server, os.X_OK) for server in servers)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_sides_agree_on_layouts(layout: type[ctypes.Structure]) -> None:
    name = layout.__name__
    checks = [f'static_assert(sizeof({name}) == {ctypes.sizeof(layout)}, "size");\n']
    for field in layout._fields_:
        offset = getattr(layout, field[0]).offset
        checks.append(f'static_assert(offsetof({name}, {field[0]}) == {offset}, "{field[0]}");\n')
    binary, messages = find_compiler().compile(
        INCLUDES + "".join(checks), ("-shared", "-I", str(INTERPRET_DIR)), {}
    )
    assert binary is not None, messages


@pytest.mark.parametrize("kind", ["libpaged_interpret_", "paged_server_"])
def test_a_damaged_file_is_compiled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    library = load_runtime(find_compiler()).path
    server = library.with_name(library.stem.replace("libpaged_interpret_", "paged_server_"))
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path))
    for known in (library, server):
        data = known.read_bytes()
        is_damaged = known.name.startswith(kind)
        (cache_dir("interpret") / known.name).write_bytes(data[:5000] if is_damaged else data)
    with load_runtime(find_compiler()).servers.server() as running:
        assert running.is_alive
    running.close()
    for known in (library, server):
        assert is_whole(cache_dir("interpret") / known.name)


def test_a_runtime_that_does_not_compile_is_an_error_after_one_line_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(HostCompiler, "compile", lambda *_: (None, "what it said"))
    with pytest.raises(KernelCompileError, match="cannot compile the interpreter:\nwhat it said"):
        load_runtime(find_compiler())
    assert caplog.messages == [
        "compiling the interpreter of CUDA kernels, once: it may take a minute"
    ]


def test_headers_decide_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_library, "INTERPRET_DIR", tmp_path / "a")
    monkeypatch.setattr(runtime_library, "PORTABLE_DIR", tmp_path / "b")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    seen = {runtime_library.header_fingerprint()}
    for name, content in (("a/x.h", "1"), ("a/x.h", "2"), ("b/x.h", "2")):
        (tmp_path / name).write_text(content)
        seen.add(runtime_library.header_fingerprint())
    assert len(seen) == 4
