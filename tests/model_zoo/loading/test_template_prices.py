"""Prices bound from above what is made."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.exceptions import SecurityError
from markupsafe import Markup

from model_zoo.loading.template_budget import Budget
from model_zoo.loading.template_environment import TemplateEnvironment
from model_zoo.loading.template_prices import (
    FILTERS,
    METHODS,
    json_price,
    method_price,
    operator_price,
)

TEXTS = st.text(st.sampled_from("aB \n\x0b\u2028'\"<%ΐ\U0001f600{}"), max_size=40)


def _spent(price: Any, *args: Any, **options: Any) -> int:
    budget = Budget()
    price(budget, *args, **options)
    return budget.spent


@given(TEXTS, TEXTS)
def test_methods_of_texts_make_no_more_than_was_paid(text: str, other: str) -> None:
    calls: list[tuple[str, tuple[Any, ...]]] = [
        *((name, ()) for name in ("upper", "lower", "title", "capitalize", "strip")),
        *(("split", args) for args in ((), (None, 2), *(((other,), (other, 1)) if other else ()))),
        *(("replace", (other, text)), ("replace", (other, text, 2)), ("splitlines", ())),
        *(("join", ([other, text],)), ("join", (other,)), ("removeprefix", (other,))),
    ]
    for name, args in calls:
        made = getattr(text, name)(*args)
        size = len(made) if isinstance(made, str) else sum(map(len, made)) + 16 * len(made)
        assert _spent(METHODS[str][name], text, *args) >= size, name


@given(TEXTS, TEXTS)
def test_filters_make_no_more_than_was_paid(text: str, other: str) -> None:
    filters: Any = TemplateEnvironment(Budget()).filters
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        *((name, (), {}) for name in ("upper", "lower", "title", "capitalize", "trim", "safe")),
        *(("indent", (7,), {}), ("indent", (other, True), {"blank": True})),
        *(("indent", (), {"width": 30, "first": True}), ("string", (), {})),
    ]
    for name, args, options in calls:
        made = filters[name](text, *args, **options)
        assert _spent(FILTERS[name], text, *args, **options) >= len(made), name


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(JSON, st.booleans(), st.none() | st.integers(0, 16), st.booleans())
def test_json_is_no_longer_than_was_paid(
    value: Any, is_ascii: bool, indent: int | None, is_sorted: bool
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent, sort_keys=is_sorted)
    assert _spent(json_price, value, is_ascii, indent, None, is_sorted) >= len(text)


@given(TEXTS, TEXTS, st.integers(-2, 9))
def test_operators_make_no_more_than_was_paid(left: str, right: str, times: int) -> None:
    assert _spent(operator_price, "+", left, right) >= len(left + right)
    assert _spent(operator_price, "+", Markup(left), right) >= len(Markup(left) + right)
    assert _spent(operator_price, "*", left, times) >= len(left * times)
    assert _spent(operator_price, "*", times, [left]) >= len(times * [left])
    assert _spent(operator_price, "%", "a%s%5.2s", (left, right)) >= len(f"a{left}{right[:2]:>5}")


@pytest.mark.parametrize("text", ["%s: %d %%", "%(a)s%-5s%05.2f%x", "100%%", "plain"])
def test_formats_of_small_widths_are_paid(text: str) -> None:
    assert _spent(operator_price, "%", text, {"a": "b"}) > len(text)


@pytest.mark.parametrize("text", ["%100d", "%.100f", "%*d", "%(a(b))9999d", "%", "%y"])
def test_other_formats_are_refused(text: str) -> None:
    with pytest.raises(SecurityError, match="widths of two digits"):
        _spent(operator_price, "%", text, 1)


@pytest.mark.parametrize("text", ["{:100}", "{:.100}", "{:{}}", "{0:{1}}", "{", "}", "{a!x}"])
def test_other_fields_are_refused(text: str) -> None:
    with pytest.raises(SecurityError, match="widths of two digits"):
        _spent(METHODS[str]["format"], text, 1)


def test_only_methods_with_a_price_may_be_called() -> None:
    assert method_price("a", "strip") is not None
    assert method_price(Markup("a"), "strip") is not None
    assert method_price({}, "get") is not None
    for owner, name in (
        ("a", "center"),
        ({}, "pop"),
        ([], "append"),
        (1, "to_bytes"),
        (dict, "get"),
    ):
        assert method_price(owner, name) is None


def test_an_option_that_a_price_does_not_know_is_no_way_around_it() -> None:
    with pytest.raises(TypeError, match="attribute"):
        _spent(FILTERS["join"], [1], attribute="a")
