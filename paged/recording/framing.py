"""The outer form of a recording: a signature, then chunks that are each checked by themselves.

Layout, little-endian: 8 bytes of signature, the version (u32); for each chunk its kind (u8), the
number of steps it holds (u32), the bytes that follow (u32), a CRC-32 of all these (u32), and the
bytes, which zlib made of others. Chunks: one header, then steps, then one end, which is empty.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import BinaryIO

from paged.errors import RecordingError

VERSION = 1

HEADER, STEPS, END = range(3)
"""Kinds of chunks."""

MAX_CHUNK_BYTES = 2**30
"""Unpacked. What claims more is no recording: the largest are thousands of times smaller."""

_SIGNATURE = b"PAGEDREC"
_START = struct.Struct("<8sI")
_CHUNK = struct.Struct("<BIII")
_LEVEL = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPlace:
    """Where a chunk lies, and what it says of itself.

    first_step: steps in the chunks before it. offset: of its packed bytes in the file.
    """

    kind: int
    first_step: int
    num_steps: int
    offset: int
    num_bytes: int
    crc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The chunks of a file, without its end.

    fault: where and how the file breaks off, as far as that shows without reading the chunks.
    """

    name: str
    chunks: tuple[ChunkPlace, ...]
    fault: str | None


def write_start(file: BinaryIO) -> None:
    """Write what a recording begins with. Raises: OSError."""
    file.write(_START.pack(_SIGNATURE, VERSION))


def write_chunk(file: BinaryIO, kind: int, data: bytes, *, num_steps: int = 0) -> None:
    """Write one chunk, at once, and let it reach the file. Raises: OSError."""
    packed = zlib.compress(data, _LEVEL)
    crc = _crc(kind, num_steps, packed)
    file.write(_CHUNK.pack(kind, num_steps, len(packed), crc) + packed)
    file.flush()


def read_contents(file: BinaryIO, name: str) -> Contents:
    """List the chunks of a recording. O(chunks).

    name: of the file, for errors.
    Raises: RecordingError where the file is no recording, or is of another version.
    """
    start = file.read(_START.size)
    if len(start) < _START.size or not start.startswith(_SIGNATURE):
        raise RecordingError(f"{name}: expected a recording of batches, got another file")
    version = _START.unpack(start)[1]
    if version != VERSION:
        raise RecordingError(
            f"{name}: expected a recording of version {VERSION}, got {version}; read it with the"
            " paged that wrote it, or record again"
        )
    chunks, fault = _list_chunks(file)
    if fault is not None:
        num_steps = sum(chunk.num_steps for chunk in chunks)
        fault = f"{name}: after {num_steps} steps: the recording breaks off {fault}"
    return Contents(name=name, chunks=tuple(chunks), fault=fault)


def _list_chunks(file: BinaryIO) -> tuple[list[ChunkPlace], str | None]:
    """Return the chunks after the start, and where a file without its end breaks off."""
    file_end = file.seek(0, 2)
    at, num_steps = _START.size, 0
    chunks: list[ChunkPlace] = []
    while True:
        file.seek(at)
        head = file.read(_CHUNK.size)
        if len(head) < _CHUNK.size:
            return chunks, "between chunks; its run was killed, or is still going on"
        kind, num_more, num_bytes, crc = _CHUNK.unpack(head)
        at += _CHUNK.size
        if at + num_bytes > file_end:
            return chunks, "within a chunk"
        if kind == END and not num_more:
            return chunks, None
        chunk = ChunkPlace(
            kind=kind,
            first_step=num_steps,
            num_steps=num_more,
            offset=at,
            num_bytes=num_bytes,
            crc=crc,
        )
        chunks.append(chunk)
        at += num_bytes
        num_steps += num_more


def read_chunk(file: BinaryIO, name: str, chunk: ChunkPlace) -> bytes:
    """Return the bytes of a chunk, as they were before zlib.

    Raises: RecordingError where they are not what was written.
    """
    file.seek(chunk.offset)
    packed = file.read(chunk.num_bytes)
    if _crc(chunk.kind, chunk.num_steps, packed) != chunk.crc:
        raise RecordingError(
            f"{name}: after {chunk.first_step} steps: the recording is damaged: its checksum is"
            " not that of its bytes"
        )
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, MAX_CHUNK_BYTES)
    except zlib.error as error:
        raise RecordingError(f"{name}: expected a chunk that zlib made: {error}") from error
    if not unpacking.eof:
        raise RecordingError(
            f"{name}: expected chunks of at most {MAX_CHUNK_BYTES:,} bytes, and whole; got another"
        )
    return data


def _crc(kind: int, num_steps: int, packed: bytes) -> int:
    """Return the checksum of a chunk's kind, its number of steps and its bytes."""
    return zlib.crc32(packed, zlib.crc32(struct.pack("<BI", kind, num_steps)))
