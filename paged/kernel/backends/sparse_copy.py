"""Copy the caller's memory to a file in memory and back, leaving out what was never touched.

A test of 64-bit offsets has a pool of gigabytes of which two blocks exist. Only in large spans is
it looked which pages do: for small ones a plain copy is faster.
"""

from __future__ import annotations

import array
import ctypes
import errno
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

LARGE_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 1 << 30
PAGE_BYTES = mmap.PAGESIZE
PAGE_ENTRY_BYTES = 8
PRESENT = 0b11 << 62
"""Bits of a page map entry: the page is in memory, or swapped out."""

MAPS = Path("/proc/self/maps")
PAGE_MAP = Path("/proc/self/pagemap")

Run = tuple[int, int]
"""Begin and end of touched bytes, relative to the span."""


def copy_in(file: int, offset: int, address: int, num_bytes: int) -> None:
    """Write memory to a file whose untouched parts read as zeros."""
    for begin, end in _touched(address, num_bytes):
        for at in range(begin, end, CHUNK_BYTES):
            size = min(CHUNK_BYTES, end - at)
            os.pwrite(file, (ctypes.c_char * size).from_address(address + at), offset + at)


def copy_out(file: int, offset: int, address: int, num_bytes: int) -> None:
    """Read memory from a file, but for parts that it does not hold. Mutates the memory."""
    for begin, end in _held(file, offset, num_bytes):
        for at in range(begin, end, CHUNK_BYTES):
            size = min(CHUNK_BYTES, end - at)
            os.preadv(file, [(ctypes.c_char * size).from_address(address + at)], offset + at)


def _touched(address: int, num_bytes: int) -> Iterator[Run]:
    if num_bytes < LARGE_BYTES or not _is_anonymous(address, address + num_bytes):
        yield 0, num_bytes
        return
    first = address // PAGE_BYTES
    last = (address + num_bytes - 1) // PAGE_BYTES
    with PAGE_MAP.open("rb", buffering=0) as pages:
        for page in range(first, last + 1, CHUNK_BYTES // PAGE_BYTES):
            count = min(CHUNK_BYTES // PAGE_BYTES, last + 1 - page)
            entries = array.array("Q", os.pread(pages.fileno(), count * 8, page * 8))
            for begin, end in _present_runs(entries):
                low = (page + begin) * PAGE_BYTES - address
                high = (page + end) * PAGE_BYTES - address
                yield max(0, low), min(num_bytes, high)


def _present_runs(entries: array.array[int]) -> Iterator[Run]:
    present = (np.frombuffer(entries, dtype=np.uint64) & np.uint64(PRESENT)) != 0
    edges = np.flatnonzero(np.diff(np.concatenate(([False], present, [False])).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _is_anonymous(begin: int, end: int) -> bool:
    """Return whether no file lies behind these addresses: then untouched pages are zeros."""
    for line in MAPS.read_text().splitlines():
        addresses, _, _, _, inode, *_ = line.split()
        low, high = (int(part, 16) for part in addresses.split("-"))
        if low < end and begin < high and inode != "0":
            return False
    return True


def _held(file: int, offset: int, num_bytes: int) -> Iterator[Run]:
    if num_bytes < LARGE_BYTES:
        yield 0, num_bytes
        return
    at = offset
    end = offset + num_bytes
    while at < end:
        try:
            data = os.lseek(file, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # no data from here on
                raise
            return
        if data >= end:
            return
        at = min(end, os.lseek(file, data, os.SEEK_HOLE))
        yield data - offset, at - offset
