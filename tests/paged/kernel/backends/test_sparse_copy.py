"""Copies of large memory leave out pages that were never touched."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from paged.kernel.backends.sparse_copy import LARGE_BYTES, PAGE_BYTES, copy_in, copy_out

NUM_BYTES = LARGE_BYTES + 3 * PAGE_BYTES + 100
SHIFT = 36


@pytest.fixture
def file() -> Iterator[int]:
    fd = os.memfd_create("test")
    os.ftruncate(fd, NUM_BYTES + 4 * PAGE_BYTES)
    yield fd
    os.close(fd)


def address_of(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def held_bytes(file: int) -> int:
    return os.fstat(file).st_blocks * 512


def test_only_touched_pages_of_large_memory_are_copied(file: int) -> None:
    source = mmap.mmap(-1, NUM_BYTES + PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in (SHIFT, 5 * PAGE_BYTES, NUM_BYTES // 2, NUM_BYTES + SHIFT - 1):
        source[at] = 7
    copy_in(file, PAGE_BYTES + SHIFT, address_of(source) + SHIFT, NUM_BYTES)
    assert held_bytes(file) < 64 * PAGE_BYTES
    expected = source[SHIFT : SHIFT + NUM_BYTES]
    assert os.pread(file, NUM_BYTES, PAGE_BYTES + SHIFT) == expected

    target = mmap.mmap(-1, NUM_BYTES + PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    os.pwrite(file, b"\5", PAGE_BYTES + SHIFT + NUM_BYTES - 1)
    copy_out(file, PAGE_BYTES + SHIFT, address_of(target) + SHIFT, NUM_BYTES)
    assert target[SHIFT : SHIFT + NUM_BYTES] == expected[:-1] + b"\5"


def test_memory_that_a_file_lies_behind_is_copied_whole(file: int, tmp_path: Path) -> None:
    content = b"ab" * (LARGE_BYTES // 2 + PAGE_BYTES)
    (tmp_path / "data").write_bytes(content)
    with (tmp_path / "data").open("r+b") as stored:
        source = mmap.mmap(stored.fileno(), 0, flags=mmap.MAP_PRIVATE)
    copy_in(file, 0, address_of(source), LARGE_BYTES)
    assert os.pread(file, LARGE_BYTES, 0) == content[:LARGE_BYTES]


def test_small_memory_is_copied_whole(file: int) -> None:
    source = ctypes.create_string_buffer(b"\0\1\2" * 1000, 3000)
    target = ctypes.create_string_buffer(3000)
    copy_in(file, 100, ctypes.addressof(source), 3000)
    copy_out(file, 100, ctypes.addressof(target), 3000)
    assert target.raw == source.raw
