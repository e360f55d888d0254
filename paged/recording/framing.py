"""The outer form of a recording: a signature, then chunks that are each checked by themselves.

Layout, little-endian: 8 bytes of signature, the version (u32); for each chunk its kind (u8), the
number of steps it holds (u32), the bytes that follow (u32), a CRC-32 of all these (u32), and the
bytes, which zlib made of others. Chunks: one header, then steps, then one end, which is empty.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from paged.errors import RecordingError

VERSION = 1

HEADER, STEPS, END = range(3)
"""Kinds of chunks."""

_SIGNATURE = b"PAGEDREC"
_START = struct.Struct("<8sI")
_CHUNK = struct.Struct("<BIII")
_LEVEL = 6
_MAX_CHUNK_BYTES = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """What was framed. data: as it was before zlib."""

    kind: int
    num_steps: int
    data: bytes


def write_start(file: BinaryIO) -> None:
    """Write what a recording begins with. Raises: OSError."""
    file.write(_START.pack(_SIGNATURE, VERSION))


def write_chunk(file: BinaryIO, chunk: Chunk) -> None:
    """Write one chunk, at once, and let it reach the file. Raises: OSError."""
    packed = zlib.compress(chunk.data, _LEVEL)
    head = _CHUNK.pack(chunk.kind, chunk.num_steps, len(packed), _crc(chunk, packed))
    file.write(head + packed)
    file.flush()


def read_chunks(file: BinaryIO, name: str) -> Iterator[Chunk]:
    """Yield the chunks of a recording, to its end.

    name: of the file, for errors.
    Raises: RecordingError where the file is no recording, is of another version, is damaged, or
        breaks off; the chunks before that have been yielded.
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
    num_steps = 0
    while True:
        chunk = _read_chunk(file, f"{name}: after {num_steps} steps")
        if chunk.kind == END:
            return
        yield chunk
        num_steps += chunk.num_steps


def _read_chunk(file: BinaryIO, place: str) -> Chunk:
    head = file.read(_CHUNK.size)
    if len(head) < _CHUNK.size:
        raise RecordingError(
            f"{place}: the recording breaks off; its run was killed, or is still going on"
        )
    kind, num_steps, num_bytes, crc = _CHUNK.unpack(head)
    # careful: a damaged size must not take all memory
    packed = file.read(num_bytes) if num_bytes < _MAX_CHUNK_BYTES else b""
    if len(packed) < num_bytes:
        raise RecordingError(f"{place}: the recording breaks off within a chunk")
    chunk = Chunk(kind=kind, num_steps=num_steps, data=packed)
    if _crc(chunk, packed) != crc:
        raise RecordingError(
            f"{place}: the recording is damaged: its checksum is not that of its bytes"
        )
    return Chunk(kind=kind, num_steps=num_steps, data=zlib.decompress(packed))


def _crc(chunk: Chunk, packed: bytes) -> int:
    """Return the checksum of a chunk's kind, its number of steps and its bytes."""
    return zlib.crc32(packed, zlib.crc32(struct.pack("<BI", chunk.kind, chunk.num_steps)))
