"""Chunks are written whole and read back checked."""

from __future__ import annotations

import io

import pytest

from paged.errors import RecordingError
from paged.recording.framing import END, STEPS, Chunk, read_chunks, write_chunk, write_start

CHUNKS = [Chunk(kind=STEPS, num_steps=n, data=bytes(range(n))) for n in (3, 40)]
LAST = Chunk(kind=END, num_steps=0, data=b"")


def file_of(*chunks: Chunk) -> bytearray:
    file = io.BytesIO()
    write_start(file)
    for chunk in chunks:
        write_chunk(file, chunk)
    return bytearray(file.getvalue())


def read(data: bytes) -> list[Chunk]:
    return list(read_chunks(io.BytesIO(data), "run"))


def test_chunks_read_back() -> None:
    assert read(file_of(*CHUNKS, LAST)) == CHUNKS


def test_what_follows_the_end_is_not_read() -> None:
    assert read(file_of(*CHUNKS, LAST, *CHUNKS)) == CHUNKS


def test_a_missing_end_is_told() -> None:
    with pytest.raises(RecordingError, match="run: after 43 steps: the recording breaks off"):
        read(file_of(*CHUNKS))


def test_every_changed_byte_is_told() -> None:
    data = file_of(*CHUNKS, LAST)
    for place in range(len(data)):
        damaged = data.copy()
        damaged[place] ^= 1
        with pytest.raises(RecordingError):
            read(damaged)


def test_another_version_is_refused() -> None:
    data = file_of(LAST)
    data[8] = 7
    with pytest.raises(RecordingError, match="of version 1, got 7; read it with the paged that"):
        read(data)
