"""The keys of a GGUF file, each asked for with the type it must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from model_zoo.loading.gguf_cursor import GgufValue
from paged.errors import ModelFileError

PREFIX = "tokenizer.ggml"
"""What the keys of a tokenizer begin with."""

# Ends of a text, of a turn and of a message: each ends an answer.
_END_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class GgufMetadata:
    """Read-only access to metadata.

    Each query returns None for a key that is absent, and raises ModelFileError for one of
    another type.
    """

    path: Path
    values: Mapping[str, GgufValue]

    def integer(self, key: str) -> int | None:
        """Return a whole number."""
        value = self.values.get(key)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise self._wrong(key, "a whole number")

    def number(self, key: str) -> float | None:
        """Return a number."""
        value = self.values.get(key)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        raise self._wrong(key, "a number")

    def flag(self, key: str) -> bool | None:
        """Return a truth value."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self._wrong(key, "true or false")

    def text(self, key: str) -> str | None:
        """Return a string."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value
        raise self._wrong(key, "a string")

    def texts(self, key: str) -> list[str] | None:
        """Return a list of strings."""
        return cast("list[str] | None", self._items(key, (str,), "strings"))

    def integers(self, key: str) -> list[int] | None:
        """Return a list of whole numbers."""
        return cast("list[int] | None", self._items(key, (int,), "whole numbers"))

    def numbers(self, key: str) -> list[float] | None:
        """Return a list of numbers."""
        return cast("list[float] | None", self._items(key, (int, float), "numbers"))

    def required(self, key: str, value: Value | None) -> Value:
        """Return the value that a query gave for a key. Raises ModelFileError for None."""
        if value is None:
            raise ModelFileError(
                f"{self.path}: the key {key} is missing; convert the model again with a current "
                "convert_hf_to_gguf.py"
            )
        return value

    def _items(self, key: str, types: tuple[type, ...], what: str) -> list[GgufValue] | None:
        value = self.values.get(key)
        if value is None:
            return None
        # One look is enough: the items of an array have one type in the file.
        if isinstance(value, list) and (not value or isinstance(value[0], types)):
            return cast("list[GgufValue]", value)
        raise self._wrong(key, f"a list of {what}")

    def _wrong(self, key: str, wanted: str) -> ModelFileError:
        return ModelFileError(
            f"{self.path}: {key} must be {wanted}, got {self.values[key]!r:.60}; "
            "convert the model again with a current convert_hf_to_gguf.py"
        )


def end_ids(metadata: GgufMetadata) -> tuple[int, ...]:
    """Return the ids that end an answer, the end of a text first. Raises ModelFileError."""
    found = (metadata.integer(f"{PREFIX}.{key}") for key in _END_KEYS)
    return tuple(dict.fromkeys(token for token in found if token is not None))
