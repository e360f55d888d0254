"""Addresses become lines of the sources that are named."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.symbolizer import source_line
from paged.kernel.elf import variable_places

TEXT = """
#line 10 "{inner}"
inline __attribute__((always_inline)) int twice(int x) {{
    return *(volatile int*)&x * 2; }}
#line 20 "{outer}"
extern "C" __attribute__((visibility("default"))) int f(int x) {{
    return twice(x); }}
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    text = TEXT.format(inner="<inner>", outer="/a folder/outer.cu")
    binary, messages = find_compiler().compile(text, ("-shared", "-O1"), {})
    assert binary is not None, messages
    path = tmp_path / "lib.so"
    path.write_bytes(binary)
    return path


def offset_of(path: Path, name: str) -> int:
    library = ctypes.CDLL(str(path))
    base = min(
        int(line.split("-")[0], 16)
        for line in Path("/proc/self/maps").read_text().splitlines()
        if line.endswith(str(path))
    )
    return (ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0) - base


def test_the_innermost_named_file_is_told(library: Path) -> None:
    offsets = [offset_of(library, "f") + i for i in range(16)]
    assert source_line(library, offsets, {"<inner>"}) == ("<inner>", 11)
    assert source_line(library, offsets, {"/a folder/outer.cu"}) in {
        ("/a folder/outer.cu", 20),
        ("/a folder/outer.cu", 21),
    }


def test_an_unknown_place_is_none(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert source_line(library, [1 << 40], {"<inner>"}) is None
    assert source_line(library, [], {"<inner>"}) is None
    monkeypatch.setenv("PATH", "")
    assert source_line(library, [offset_of(library, "f")], {"<inner>"}) is None
    assert variable_places(library.read_bytes())
