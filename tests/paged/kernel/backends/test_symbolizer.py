"""Addresses become lines of the sources that are named."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.symbolizer import source_lines
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


def test_the_chain_of_calls_is_told_as_far_as_its_files_are_named(library: Path) -> None:
    offsets = [offset_of(library, "f") + i for i in range(16)]
    inner, outer = ("<inner>", 11), "/a folder/outer.cu"
    assert source_lines(library, offsets, {"<inner>"}) == (inner,)
    chains = {source_lines(library, [offset], {"<inner>", outer}) for offset in offsets}
    # the line that was inlined comes before that of the call; other code has a line of its own
    called = (inner, (outer, 21))
    assert called in chains
    assert chains <= {called, ((outer, 20),), ((outer, 21),), ()}


def test_an_unknown_place_has_no_line(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert source_lines(library, [1 << 40], {"<inner>"}) == ()
    assert source_lines(library, [], {"<inner>"}) == ()
    monkeypatch.setenv("PATH", "")
    assert source_lines(library, [offset_of(library, "f")], {"<inner>"}) == ()
    assert variable_places(library.read_bytes())
