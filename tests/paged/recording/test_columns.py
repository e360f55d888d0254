"""Columns give what was put, in order, and refuse what they do not hold."""

from __future__ import annotations

import numpy as np
import pytest

from paged.errors import RecordingError
from paged.recording.columns import ColumnReader, ColumnWriter


def written() -> bytes:
    writer = ColumnWriter()
    writer.put("a", np.array([1, -2], np.int32))
    writer.put_int("b", True)
    writer.put_int("b", -5)
    writer.put("a", np.array([3]))
    writer.put_float("f", 0.1)
    writer.put_float("f", float("inf"))
    writer.put_text("t", "é\0,")
    return writer.encode()


def test_values_come_in_the_order_in_which_they_were_put() -> None:
    reader = ColumnReader(written())
    assert reader.take("a", 1).tolist() == [1]
    assert reader.take("a", 2).tolist() == [-2, 3]
    assert (reader.take_int("b"), reader.take_int("b")) == (1, -5)
    assert (reader.take_float("f"), reader.take_float("f")) == (0.1, float("inf"))
    assert reader.take_text("t") == "é\0,"
    assert reader.take("unknown", 0).dtype == np.int64


def test_what_is_put_is_copied() -> None:
    values = np.array([1, 2])
    writer = ColumnWriter()
    writer.put("a", values)
    values[:] = 0
    assert ColumnReader(writer.encode()).take("a", 2).tolist() == [1, 2]


def test_more_than_there_is_is_refused() -> None:
    reader = ColumnReader(written())
    reader.take("a", 2)
    with pytest.raises(RecordingError, match="expected 2 more values of a, got 1"):
        reader.take("a", 2)
    with pytest.raises(RecordingError, match="expected 1 more values of none, got 0"):
        reader.take_text("none")
    with pytest.raises(RecordingError, match="expected -1 more"):
        reader.take("b", -1)


def test_other_bytes_are_refused() -> None:
    data = written()
    refused = 0
    for size in range(1, len(data)):
        try:
            ColumnReader(data[:size])
        except RecordingError:
            refused += 1
    # all but those that end with a column
    assert refused == len(data) - 1 - 3
    with pytest.raises(RecordingError, match="a kind of column from 0 to 3, got 9"):
        ColumnReader(b"\x01a\x09" + bytes(8))


def test_a_name_is_given_once() -> None:
    with pytest.raises(RecordingError, match="of different names, got two of ''"):
        ColumnReader(bytes(10_000))
    with pytest.raises(RecordingError, match="got two of 'a'"):
        ColumnReader(written() * 2)
