"""Integers as bytes and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged.errors import RecordingError
from paged.recording.varint import decode, encode

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(INT64 | st.integers(-200, 200), max_size=40))
def test_all_integers_come_back(values: list[int]) -> None:
    data = encode(np.array(values, np.int64))
    assert decode(data, len(values)).tolist() == values


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, b"\x00"),
        (-1, b"\x01"),
        (1, b"\x02"),
        (63, b"\x7e"),
        (64, b"\x80\x01"),
        (-65, b"\x81\x01"),
    ],
)
def test_small_ones_take_few_bytes(value: int, expected: bytes) -> None:
    assert encode(np.array([value])) == expected


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"\x00", 0),
        (b"", 1),
        (b"\x00\x00", 1),
        (b"\x80", 1),
        (b"\x00\x80", 1),
        (b"\x80" * 10 + b"\x00", 1),
    ],
)
def test_other_bytes_are_refused(data: bytes, count: int) -> None:
    with pytest.raises(RecordingError, match=f"expected {count} integers"):
        decode(data, count)
