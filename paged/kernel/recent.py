"""Values by key, of which those used last are kept."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """A bounded table: the `size` keys used last are in it, and at most twice as many.

    Finding a key that was used lately costs one dictionary access and no lock. Threads may use
    it at once: at worst a value is forgotten early.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, None where it is unknown or was forgotten."""
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: Key, value: Value) -> None:
        """Keep a value. Forgets those that were not used since the table last filled up."""
        if len(self._young) >= self._size:
            self._young, self._old = {}, self._young
        self._young[key] = value
