"""Named columns of numbers and texts as one run of bytes.

Layout, little-endian: for each column its name (u8 bytes, UTF-8), its kind (u8), values (u32) and
bytes (u32) as numbers, then the bytes: varints of integers, or of each less the one before it, 8
bytes a float, or a JSON list.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paged.errors import RecordingError
from paged.recording import varint
from paged.types import IndexArray

_INTEGERS, _STEPS, _FLOATS, _TEXTS = range(4)
_SIZES = struct.Struct("<BII")

Floats = NDArray[np.float64]


class ColumnWriter:
    """Collects values by column; one kind of value for each name."""

    def __init__(self) -> None:
        self._arrays: dict[str, list[NDArray[Any]]] = {}
        self._integers: dict[str, list[int]] = {}
        self._floats: dict[str, list[float]] = {}
        self._texts: dict[str, list[str]] = {}

    def put(self, name: str, values: NDArray[Any]) -> None:
        """Add integers to a column, best such that are near those before them. They are copied."""
        self._arrays.setdefault(name, []).append(values.astype(np.int64))

    def put_int(self, name: str, value: int) -> None:
        """Add an integer to a column, best a small one."""
        self._integers.setdefault(name, []).append(value)

    def put_float(self, name: str, value: float) -> None:
        """Add a float to a column."""
        self._floats.setdefault(name, []).append(value)

    def put_text(self, name: str, value: str) -> None:
        """Add a text to a column."""
        self._texts.setdefault(name, []).append(value)

    def encode(self) -> bytes:
        """Return all columns as bytes."""
        parts: list[bytes] = []
        for name, arrays in self._arrays.items():
            values = np.concatenate(arrays)
            data = varint.encode(np.diff(values, prepend=0))
            parts += _column(name, _STEPS, len(values), data)
        for name, integers in self._integers.items():
            data = varint.encode(np.array(integers, np.int64))
            parts += _column(name, _INTEGERS, len(integers), data)
        for name, floats in self._floats.items():
            parts += _column(name, _FLOATS, len(floats), np.array(floats, "<f8").tobytes())
        for name, texts in self._texts.items():
            parts += _column(name, _TEXTS, len(texts), json.dumps(texts).encode())
        return b"".join(parts)


def _column(name: str, kind: int, count: int, data: bytes) -> tuple[bytes, ...]:
    key = name.encode()
    return bytes([len(key)]), key, _SIZES.pack(kind, count, len(data)), data


@dataclass(slots=True)
class _Cursor:
    """A column, and how many of its values were taken."""

    values: IndexArray | Floats | list[str]
    at: int = 0


@dataclass(slots=True)
class ColumnReader:
    """Gives the values of columns in the order in which they were put.

    A column that was never written is empty.
    Raises: RecordingError for what are no columns, or for more values than there are.
    """

    data: bytes
    _columns: dict[str, _Cursor] = field(default_factory=dict[str, _Cursor], init=False)

    def __post_init__(self) -> None:
        try:
            for name, values in _columns(self.data):
                # As zeros are read: millions of columns with no name and no value.
                if name in self._columns:
                    raise RecordingError(
                        f"expected columns of different names, got two of {name!r}"
                    )
                self._columns[name] = _Cursor(values)
        except (struct.error, ValueError, IndexError) as error:
            raise RecordingError(f"expected columns, got something else: {error}") from error

    def take(self, name: str, count: int) -> IndexArray:
        """Return the next integers of a column."""
        return np.asarray(self._take(name, count), np.int64)

    def take_int(self, name: str) -> int:
        """Return the next integer of a column."""
        return int(self._take(name, 1)[0])

    def take_float(self, name: str) -> float:
        """Return the next float of a column."""
        return float(self._take(name, 1)[0])

    def take_text(self, name: str) -> str:
        """Return the next text of a column."""
        return str(self._take(name, 1)[0])

    def _take(self, name: str, count: int) -> Any:
        if count == 0:
            return []
        cursor = self._columns.get(name, _Cursor([]))
        begin, cursor.at = cursor.at, cursor.at + count
        if not 0 < count <= len(cursor.values) - begin:
            left = len(cursor.values) - begin
            raise RecordingError(f"expected {count} more values of {name}, got {left}")
        return cursor.values[begin : cursor.at]


def _columns(data: bytes) -> Iterator[tuple[str, Any]]:
    at = 0
    while at < len(data):
        begin = at + 1
        at = begin + data[at]
        name = data[begin:at].decode()
        kind, count, num_bytes = _SIZES.unpack_from(data, at)
        begin = at + _SIZES.size
        at = begin + num_bytes
        if at > len(data):
            raise RecordingError(f"the column {name} ends after its file does")
        yield name, _values(kind, count, data[begin:at])


def _values(kind: int, count: int, data: bytes) -> IndexArray | Floats | list[str]:
    if kind == _STEPS:
        return np.cumsum(varint.decode(data, count))
    if kind == _INTEGERS:
        return varint.decode(data, count)
    if kind == _FLOATS:
        return np.frombuffer(data, "<f8", count)
    if kind == _TEXTS:
        return list(map(str, json.loads(data)))
    raise RecordingError(f"expected a kind of column from 0 to {_TEXTS}, got {kind}")
