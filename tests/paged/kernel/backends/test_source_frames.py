"""Frames of addresses: what was inlined where, from a library compiled here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from paged.kernel.backends.source_frames import Frame, source_frames

SOURCE = """static inline __attribute__((always_inline)) int inner(const volatile int* x) {
    return *x;
}
extern "C" int outer(const volatile int* x) {
    return inner(x) + 1;
}
"""


@pytest.fixture
def library(tmp_path: Path) -> tuple[Path, int]:
    """Return a library, and where in it its function begins."""
    (tmp_path / "code.cpp").write_text(SOURCE)
    path = tmp_path / "code.so"
    command = ["g++", "-g", "-O1", "-shared", "-fPIC", str(tmp_path / "code.cpp"), "-o", str(path)]
    subprocess.run(command, check=True)
    names = subprocess.run(["nm", str(path)], check=True, capture_output=True, text=True).stdout
    return path, next(int(line[:16], 16) for line in names.splitlines() if line.endswith(" outer"))


def test_inlined_calls_are_told_from_the_inside_out(library: tuple[Path, int]) -> None:
    path, begin = library
    found = source_frames(path, [begin])[begin]
    assert [(frame.file, frame.line) for frame in found] == [("code.cpp", 2), ("code.cpp", 5)]
    assert found[1] == Frame(function="outer", file="code.cpp", line=5)


def test_addresses_out_of_the_code_have_none(library: tuple[Path, int]) -> None:
    path, begin = library
    found = source_frames(path, [begin, 1 << 40, begin])
    assert found[1 << 40] == ()
    assert found[begin]
    assert source_frames(path, []) == {}
