"""A cursor reads what is there, and nothing past the end."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from model_zoo.loading.gguf_cursor import SCALAR_FORMATS, GgufCursor
from paged.errors import ModelFileError


def cursor(data: bytes) -> GgufCursor:
    """Return a cursor at the start of some bytes."""
    return GgufCursor(Path("some.gguf"), memoryview(data))


@pytest.mark.parametrize("kind", SCALAR_FORMATS)
def test_every_number_is_read_and_stepped_over(kind: int) -> None:
    code = SCALAR_FORMATS[kind]
    reading = cursor(struct.pack(f"<{code}{code}", 1, 0))
    assert reading.value(kind) == 1
    assert reading.value(kind) == 0
    assert reading.num_bytes_left == 0


@pytest.mark.parametrize("kind", SCALAR_FORMATS)
def test_a_number_past_the_end_is_refused(kind: int) -> None:
    size = struct.calcsize(f"<{SCALAR_FORMATS[kind]}")
    with pytest.raises(ModelFileError, match="got the end of the file"):
        cursor(bytes(size - 1)).value(kind)


def test_strings_and_lists_are_read() -> None:
    texts = struct.pack("<IQQ", 8, 2, 1) + b"a" + struct.pack("<Q", 0)
    numbers = struct.pack("<IQ3h", 3, 3, -1, 0, 1)
    reading = cursor(texts + numbers)
    assert reading.value(9) == ["a", ""]
    assert reading.value(9) == [-1, 0, 1]
    assert reading.num_bytes_left == 0


def test_a_count_must_fit_into_what_is_left() -> None:
    data = struct.pack("<Q", 3) + bytes(12)
    assert cursor(data).count("Q", least_bytes=4, what="items") == 3
    with pytest.raises(ModelFileError, match="3 items are announced at byte 8, but only 12"):
        cursor(data).count("Q", least_bytes=5, what="items")


def test_bytes_that_are_no_text_are_refused() -> None:
    data = struct.pack("<Q", 1) + b"\xff"
    with pytest.raises(ModelFileError, match="UTF-8"):
        cursor(data).text()
    with pytest.raises(ModelFileError, match="UTF-8"):
        cursor(struct.pack("<IQ", 8, 1) + data).value(9)
