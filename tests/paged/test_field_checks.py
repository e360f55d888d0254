"""Checks of fields: what they take, in which form, and what they say of the rest."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from paged.errors import ConfigError
from paged.field_checks import boolean, check_integers, integer, items, number, text


@pytest.mark.parametrize(
    ("check", "value", "plain"),
    [
        (lambda value: integer("n", value, 0, 3), np.int64(3), "3"),
        (lambda value: integer("n", value, 0), 10**50, repr(10**50)),
        (lambda value: number("n", value, 0.0, 1.0), 1, "1.0"),
        (lambda value: boolean("n", value), False, "False"),
        (lambda value: text("n", value), "", "''"),
        (lambda value: items("n", value, "a list", 2), (1, 2), "[1, 2]"),
    ],
)
def test_a_value_comes_back_in_its_plain_form(
    check: Callable[[object], object], value: Any, plain: str
) -> None:
    assert repr(check(value)) == plain


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (lambda value: integer("n", value, 1, 3), 0, "an integer from 1 to 3, got 0"),
        (lambda value: integer("n", value, 1, 3), 4, "an integer from 1 to 3, got 4"),
        (lambda value: integer("n", value, 1), 0, "an integer at least 1, got 0"),
        (lambda value: integer("n", value, 0), True, "an integer at least 0, got True"),
        (lambda value: integer("n", value, 0), 1.0, "an integer at least 0, got 1.0"),
        (lambda value: integer("n", value, 0, 9), 10**60, "got a number of more than 40 digits"),
        (lambda value: number("n", value, 0.0, 1.0), float("nan"), "0.0 to 1.0, got nan"),
        (lambda value: number("n", value, 0.0, 1.0), True, "a number from 0.0 to 1.0, got True"),
        (lambda value: boolean("n", value), 1, "True or False, got 1"),
        (lambda value: text("n", value), b"x", "a string, got b'x'"),
        (lambda value: text("n", value), list(range(99)), "a string, got [0, 1, 2"),
        (lambda value: items("n", value, "a list", 2), "ab", "a list, got 'ab'"),
        (lambda value: items("n", value, "a list", 2), iter("ab"), "a list, got <str_asc"),
        (lambda value: items("n", value, "a list", 2), (1, 2, 3), "at most 2 entries, got 3"),
    ],
)
def test_a_refusal_names_the_field_and_says_what_was_expected(
    check: Callable[[object], object], value: Any, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check(value)
    refusal = str(caught.value)
    assert refusal.startswith("n: expected ")
    assert message in refusal
    assert len(refusal) < 120


def test_integers_of_an_owner_are_checked_and_kept_in_their_plain_form() -> None:
    owner = SimpleNamespace(a=np.int64(2), b=None, c=5)
    check_integers(owner, {"a": (0, 3), "b": (1, None)}, optional=("b",))
    assert (repr(owner.a), owner.b) == ("2", None)
    with pytest.raises(ConfigError, match=r"^c: expected an integer from 0 to 4, got 5"):
        check_integers(owner, {"c": (0, 4)})
    with pytest.raises(ConfigError, match=r"^b: expected an integer at least 0, got None"):
        check_integers(owner, {"b": (0, None)}, optional=("a",))
