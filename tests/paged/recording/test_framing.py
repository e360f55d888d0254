"""Chunks are written whole and read back checked."""

from __future__ import annotations

import io

import pytest

from paged.errors import RecordingError
from paged.recording.framing import END, STEPS, read_chunk, read_contents, write_chunk, write_start

CHUNKS = {3: bytes(range(3)), 40: bytes(range(40))}


def file_of(*, has_end: bool = True) -> bytearray:
    file = io.BytesIO()
    write_start(file)
    for num_steps, data in CHUNKS.items():
        write_chunk(file, STEPS, data, num_steps=num_steps)
    if has_end:
        write_chunk(file, END, b"")
    return bytearray(file.getvalue())


def read(data: bytes | bytearray) -> dict[int, bytes]:
    file = io.BytesIO(data)
    contents = read_contents(file, "run")
    found = {each.num_steps: read_chunk(file, "run", each) for each in contents.chunks}
    if contents.fault is not None:
        raise RecordingError(contents.fault)
    return found


def test_chunks_read_back() -> None:
    assert read(file_of()) == CHUNKS


def test_chunks_know_the_steps_before_them() -> None:
    contents = read_contents(io.BytesIO(file_of()), "run")
    assert [(each.first_step, each.num_steps) for each in contents.chunks] == [(0, 3), (3, 40)]


def test_what_follows_the_end_is_not_read() -> None:
    assert read(file_of() + b"anything") == CHUNKS


def test_a_missing_end_is_told() -> None:
    with pytest.raises(RecordingError, match="run: after 43 steps: the recording breaks off"):
        read(file_of(has_end=False))


def test_every_changed_byte_but_the_end_s_own_is_told() -> None:
    data = file_of()
    # the end holds nothing, so that its size and its checksum do not matter
    for place in range(len(file_of(has_end=False)) + 5):
        damaged = data.copy()
        damaged[place] ^= 1
        with pytest.raises(RecordingError):
            read(damaged)


def test_another_version_is_refused() -> None:
    data = file_of()
    data[8] = 7
    with pytest.raises(RecordingError, match="of version 1, got 7; read it with the paged that"):
        read(data)
