"""What a field of a configuration may hold: each check returns it in its plain form.

Every error is a ConfigError whose text starts with the field's name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Integral, Real
from types import UnionType
from typing import Any

from paged.errors import ConfigError

MAX_INT32 = 2**31 - 1
MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1


def expected(name: str, what: str, value: object) -> ConfigError:
    """Return the error that says what a field must be, and what it is."""
    # careful: repr of an integer of more than 4300 digits raises.
    is_huge = isinstance(value, int) and abs(value) >= 10**40
    got = "a number of more than 40 digits" if is_huge else _shortened(repr(value))
    return ConfigError(f"{name}: expected {what}, got {got}")


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def is_a(value: object, kind: type | UnionType) -> bool:
    """Say whether a value has a type. True is no number here, although it is in Python."""
    return isinstance(value, kind) and not isinstance(value, bool)


def integer(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Check an integer of any type, such as numpy's; most is None where there is no limit."""
    # The type itself is looked at first: asking an abstract one takes ten times as long.
    if type(value) is not int and not is_a(value, Integral):
        raise expected(name, f"an integer {_range(least, most)}", value)
    number = int(value)
    if number < least or (most is not None and number > most):
        raise expected(name, f"an integer {_range(least, most)}", number)
    return number


def _range(least: int, most: int | None) -> str:
    return f"at least {least}" if most is None else f"from {least} to {most}"


Limits = Mapping[str, tuple[int, int | None]]
"""Least and most value of each field that is an integer; None is no limit."""


def check_integers(owner: object, limits: Limits, *, optional: Collection[str] = ()) -> None:
    """Check fields that are integers, or None if they are optional.

    Mutates: those fields of owner, which get their plain form.
    """
    for name, (least, most) in limits.items():
        value = getattr(owner, name)
        if value is not None or name not in optional:
            set_field(owner, name, integer(name, value, least, most))


def number(name: str, value: Any, least: float, most: float) -> float:
    """Check a number, which an integer is too and NaN is not."""
    # The comparison is false for NaN, and exact for integers too large for a float.
    is_number = type(value) is float or is_a(value, Real)
    if not is_number or not least <= value <= most:
        raise expected(name, f"a number from {least} to {most}", value)
    return float(value)


def boolean(name: str, value: Any) -> bool:
    """Check that a value is True or False, and none that Python takes for one."""
    if not isinstance(value, bool):
        raise expected(name, "True or False", value)
    return value


def text(name: str, value: Any) -> str:
    """Check a string."""
    if not isinstance(value, str):
        raise expected(name, "a string", value)
    return value


def items(name: str, value: Any, what: str, most: int) -> list[Any]:
    """Check a collection of at most so many; `what` says what it is."""
    if type(value) not in (list, tuple) and (
        is_a(value, str | bytes | Mapping) or not is_a(value, Collection)
    ):
        raise expected(name, what, value)
    check_count(name, value, most)
    return list(value)


def check_count(name: str, value: Collection[Any], most: int) -> None:
    """Refuse more than so many entries."""
    if len(value) > most:
        raise expected(name, f"at most {most} entries", len(value))


def set_field(owner: object, name: str, value: object) -> None:
    """Store the checked form of a field of a frozen dataclass. Mutates: owner."""
    object.__setattr__(owner, name, value)
