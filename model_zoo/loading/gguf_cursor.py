"""A position in the bytes of a GGUF header: every read is checked before it is made."""

from __future__ import annotations

import struct
from itertools import repeat
from pathlib import Path

from paged.errors import ModelFileError

GgufValue = bool | int | float | str | list[int] | list[float] | list[bool] | list[str]
"""What a key of the metadata may hold."""

STRING_TYPE = 8
ARRAY_TYPE = 9
# Source: the table of metadata value types in ggml's GGUF specification.
SCALAR_FORMATS = {
    **{0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i"},
    **{6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"},
}

_LENGTH = struct.Struct("<Q")


class GgufCursor:
    """Reads little-endian values one after the other; raises ModelFileError at the end of data."""

    def __init__(self, path: Path, data: memoryview) -> None:
        self.path = path
        self.position = 0
        self._data = data

    @property
    def num_bytes_left(self) -> int:
        """Bytes behind the position."""
        return len(self._data) - self.position

    def number(self, code: str) -> int | float | bool:
        """Read one number of a `struct` format."""
        self._require(struct.calcsize(f"<{code}"), "a number")
        (value,) = struct.unpack_from(f"<{code}", self._data, self.position)
        self.position += struct.calcsize(f"<{code}")
        return value

    def count(self, code: str, *, least_bytes: int, what: str) -> int:
        """Read how many items follow; so many, of at least so many bytes each, must fit."""
        value = int(self.number(code))
        if value * least_bytes > self.num_bytes_left:
            raise ModelFileError(
                f"{self.path}: {value} {what} are announced at byte {self.position}, but only "
                f"{self.num_bytes_left} bytes follow: the file is cut short or damaged; "
                "fetch it again"
            )
        return value

    def text(self) -> str:
        """Read one string."""
        size = self.count("Q", least_bytes=1, what="characters")
        return self._decode(size)

    def value(self, kind: int) -> GgufValue:
        """Read one metadata value of a GGUF value type."""
        if kind == STRING_TYPE:
            return self.text()
        if kind == ARRAY_TYPE:
            return self._array(int(self.number("I")))
        return self.number(self._format(kind))

    def _array(self, kind: int) -> GgufValue:
        if kind == STRING_TYPE:
            num_items = self.count("Q", least_bytes=_LENGTH.size, what="strings")
            return self._texts(num_items)
        code = self._format(kind)
        size = struct.calcsize(f"<{code}")
        num_items = self.count("Q", least_bytes=size, what="numbers")
        values = list(struct.unpack_from(f"<{num_items}{code}", self._data, self.position))
        self.position += num_items * size
        return values

    def _texts(self, num_items: int) -> list[str]:
        # A vocabulary has 100,000 of them: one loop, no call for each.
        data, end, texts = self._data, len(self._data), list[str]()
        position = self.position
        unpack, append = _LENGTH.unpack_from, texts.append
        try:
            for _ in repeat(None, num_items):
                start = position + _LENGTH.size
                position = start + unpack(data, position)[0]
                if position > end:
                    break
                append(str(data[start:position], "utf-8"))
        except struct.error:
            position = end + 1
        except UnicodeDecodeError as error:
            raise self._no_text(error) from error
        if position > end:
            raise ModelFileError(
                f"{self.path}: the array of {num_items} strings at byte {self.position} runs past "
                "the end of the file: it is cut short or damaged; fetch it again"
            )
        self.position = position
        return texts

    def _decode(self, size: int) -> str:
        start = self.position
        self.position += size
        try:
            return str(self._data[start : self.position], "utf-8")
        except UnicodeDecodeError as error:
            raise self._no_text(error) from error

    def _format(self, kind: int) -> str:
        code = SCALAR_FORMATS.get(kind)
        if code is None:
            raise ModelFileError(
                f"{self.path}: expected a GGUF value type of 0 to 12 at byte {self.position}, got "
                f"{kind} (arrays of arrays are not supported): the file is damaged; fetch it again"
            )
        return code

    def _require(self, num_bytes: int, what: str) -> None:
        if num_bytes > self.num_bytes_left:
            raise ModelFileError(
                f"{self.path}: expected {what} at byte {self.position}, got the end of the file: "
                "it is cut short; fetch it again"
            )

    def _no_text(self, error: UnicodeDecodeError) -> ModelFileError:
        return ModelFileError(
            f"{self.path}: expected UTF-8 text near byte {self.position}, got {error.reason}: "
            "the file is damaged; fetch it again"
        )
