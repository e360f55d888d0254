"""Fields of a configuration file, which may hold anything: each read as one type or refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard, TypeVar, cast

from paged.errors import ConfigError

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """One JSON object, read field by field.

    A field that is null counts as absent, but for `has`. Every method raises ConfigError for a
    value of another type, and those without `optional` in their name for an absent one.

    values: the object.
    prefix: what errors put before names, such as `rope_scaling.`.
    """

    values: Mapping[str, object]
    prefix: str = ""

    def has(self, name: str) -> bool:
        """Say whether the field is there, be it null."""
        return name in self.values

    def integer(self, name: str) -> int:
        """Return a whole number."""
        return self._present(name, self.optional_integer(name))

    def optional_integer(self, name: str) -> int | None:
        """Return a whole number, or None."""
        value = self.values.get(name)
        if value is None or _is_integer(value):
            return value
        raise self._mistyped(name, "a whole number below 2^63")

    def number(self, name: str) -> float:
        """Return a finite number."""
        return self._present(name, self.optional_number(name))

    def optional_number(self, name: str) -> float | None:
        """Return a finite number, or None."""
        value = self.values.get(name)
        return None if value is None else self._finite(name, value)

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a list of finite numbers."""
        value = self.values.get(name)
        if not isinstance(value, list):
            raise self._mistyped(name, "a list of numbers")
        return tuple(self._finite(name, each) for each in cast("list[object]", value))

    def optional_boolean(self, name: str) -> bool | None:
        """Return true or false, or None."""
        value = self.values.get(name)
        if value is None or isinstance(value, bool):
            return value
        raise self._mistyped(name, "true or false")

    def optional_text(self, name: str) -> str | None:
        """Return a text, or None."""
        value = self.values.get(name)
        if value is None or isinstance(value, str):
            return value
        raise self._mistyped(name, "a text")

    def optional_texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of texts, or None."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, list):
            texts = [each for each in cast("list[object]", value) if isinstance(each, str)]
            if len(texts) == len(cast("list[object]", value)):
                return tuple(texts)
        raise self._mistyped(name, "a list of texts")

    def ids(self, name: str) -> tuple[int, ...]:
        """Return token ids: from one number, a list of them, or none at all."""
        value = self.values.get(name)
        if value is None:
            return ()
        listed = cast("list[object]", value) if isinstance(value, list) else [value]
        ids = [each for each in listed if _is_integer(each)]
        if len(ids) != len(listed):
            raise self._mistyped(name, "a token id or a list of them")
        return tuple(ids)

    def optional_object(self, name: str) -> Fields | None:
        """Return the fields of an object, or None."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._mistyped(name, "an object")
        return Fields(values=cast("dict[str, object]", value), prefix=f"{self.prefix}{name}.")

    def require_one_of(self, name: str, value: str, known: Sequence[str]) -> None:
        """Raise unless a field's value is one of the known ones."""
        if value not in known:
            raise ConfigError(
                f"expected {self.prefix}{name} to be one of {', '.join(known)}, got {value!r:.100}"
            )

    def _finite(self, name: str, value: object) -> float:
        if _is_integer(value) or (isinstance(value, float) and math.isfinite(value)):
            return float(value)
        raise self._mistyped(name, "a finite number")

    def _present(self, name: str, value: Value | None) -> Value:
        if value is None:
            raise ConfigError(f"the field {self.prefix}{name} is missing; it must be there")
        return value

    def _mistyped(self, name: str, expected: str) -> ConfigError:
        got = repr(self.values[name]) if name in self.values else "nothing"
        return ConfigError(f"expected {self.prefix}{name} to be {expected}, got {got:.100}")


def _is_integer(value: object) -> TypeGuard[int]:
    """Say whether a value is a whole number that arithmetic with floats can take."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
