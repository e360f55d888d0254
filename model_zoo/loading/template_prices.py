"""What methods, filters and tests of chat templates cost, and by that which there are.

A price is paid before the work is done, and bounds what it takes from above. There are those that
templates of published models use, and their like: none that pads, wraps or rounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any, cast

from jinja2.exceptions import SecurityError

from model_zoo.loading.template_budget import ITEM, OBJECT, VISIT, Budget

Price = Callable[..., None]
"""Pays for a call with its arguments, the budget before them; it takes those that are allowed."""

MAX_INDENT = 16
MAX_DIGITS = 1024
"""Of a number that is read; of the decimal system, Python sets the bound."""
MAX_BITS = 4 * MAX_DIGITS
"""Of a number that is computed."""
# 'ΐ'.upper() has three.
_CASED_CHARACTERS = 3
# As JSON, one beyond 16 bits is two of \ud83d; as HTML, a quote is &#34;.
_JSON_CHARACTERS = 12
_HTML_CHARACTERS = 5
_LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"

# Widths have two digits, and are written there.
_PERCENT = re.compile(r"%(?:%|(?:\(\w+\))?[-+ #0]{0,3}\d{0,2}(?:\.\d{1,2})?[sdifrxXgGeEc])", re.A)
_BRACES = re.compile(
    r"\{\{|\}\}|\{[\w.\[\]]*(?:![rs])?(?::[^{}0-9]{0,3}\d{0,2},?(?:\.\d{1,2})?[a-zA-Z%]?)?\}", re.A
)
_FIELD_CHARACTERS = 512


def no_price(_budget: Budget, _value: object, *_args: object, **_options: object) -> None:
    """Pay no more than for any call and its arguments, which is paid already."""


def _read(budget: Budget, text: str, *_args: object) -> None:
    budget.spend(2 * len(text))


def _cased(budget: Budget, value: object) -> None:
    _as_text(budget, value, _CASED_CHARACTERS)


def _title(budget: Budget, value: object) -> None:
    # Jinja's makes a text of each word.
    _as_text(budget, value, OBJECT)


def _as_text(budget: Budget, value: object, times: int = 1) -> None:
    for _ in range(times):
        budget.text(value)


def _search(budget: Budget, text: str, needle: object = None, *_bounds: object) -> None:
    budget.search(text, needle)


def _trim(budget: Budget, value: object, chars: str | None = None) -> None:
    budget.text(value)
    budget.search(str(value), chars)


def _split(budget: Budget, text: str, sep: str | None = None, maxsplit: int = -1) -> None:
    budget.search(text, sep)
    pieces = 1 + (len(text) // 2 if sep is None else text.count(sep))
    budget.spend(len(text) + OBJECT * (pieces if maxsplit < 0 else min(pieces, maxsplit + 1)))


def _splitlines(budget: Budget, text: str, *_: object, **_options: object) -> None:
    budget.spend(2 * len(text) + OBJECT * _num_lines(text))


def _num_lines(text: str) -> int:
    return 1 + sum(text.count(end) for end in _LINE_ENDS)


def _replace(
    budget: Budget, value: object, old: object, new: object, count: int | None = None
) -> None:
    for each in (value, old, new):
        budget.text(each)
    text, old = str(value), str(old)
    budget.search(text, old)
    places = text.count(old)
    budget.spend((places if count is None or count < 0 else min(places, count)) * len(str(new)))


def _join(budget: Budget, text: object, items: Iterable[object]) -> None:
    _joined(budget, items, text)


def _joined(budget: Budget, items: Iterable[object], d: object = "") -> None:
    budget.text(d)
    between = OBJECT + len(str(d))
    if isinstance(items, str):
        budget.spend(between * len(items))
        return
    _each(budget, items)
    for item in items:
        budget.spend(between)
        budget.text(item)


def _indent(
    budget: Budget, value: str, width: int | str = 4, *_: object, **_options: object
) -> None:
    length = len(width) if isinstance(width, str) else max(0, width)
    budget.spend(4 * len(value) + (2 * OBJECT + length) * _num_lines(value))


def _percent(budget: Budget, text: str, *values: object, **named: object) -> None:
    _format(budget, text, _PERCENT, "%", (*values, *named.values()))


def _braces(budget: Budget, text: str, *values: object, **named: object) -> None:
    _format(budget, text, _BRACES, "{", (*values, *named.values()))


def _format(
    budget: Budget, text: str, field: re.Pattern[str], sign: str, values: tuple[object, ...]
) -> None:
    budget.spend(10 * len(text))
    if any(each in field.sub("", text) for each in (sign, "}" if sign == "{" else sign)):
        raise SecurityError("it formats with more than names, and widths of two digits")
    for _ in range(text.count(sign)):
        budget.spend(_FIELD_CHARACTERS)
        for value in values:
            budget.text(value)


def json_price(  # noqa: PLR0917  (the filter has so many)
    budget: Budget,
    value: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> None:
    """Pay for JSON."""
    del ensure_ascii
    step = len(indent) if isinstance(indent, str) else (indent or 0)
    if step > MAX_INDENT:
        raise SecurityError(f"it indents JSON by more than {MAX_INDENT} characters")
    between = 2 if separators is None else sum(len(str(each)) for each in separators)
    # Keys are sorted in each object: its items count twice.
    per_item = (2 if sort_keys else 1) * VISIT + between
    budget.weigh(value, per_character=_JSON_CHARACTERS, per_item=per_item, per_level=max(0, step))


def _listed(budget: Budget, value: object = ()) -> None:
    # Other things than lists make an object of each item, such as the text of a character.
    if isinstance(value, Sized):
        is_made = not isinstance(value, list | tuple)
        budget.spend((OBJECT if is_made else ITEM) * len(value))


def _each(budget: Budget, value: object, *_args: object, **_options: object) -> None:
    if isinstance(value, Sized):
        budget.spend(VISIT * len(value))


def _number(budget: Budget, value: object, default: object = 0, base: int = 10) -> None:
    del default
    budget.text(value)
    if base != 10 and isinstance(value, str) and len(value) > MAX_DIGITS:
        raise SecurityError(f"a number has more than {MAX_DIGITS} digits")


def sort_price(budget: Budget, value: Any, *_: object, **_options: object) -> None:
    """Pay for sorting: each item is compared as often as the number of them has bits."""
    bits = len(value).bit_length() + 1
    budget.weigh(value, per_character=2 * bits, per_item=VISIT + OBJECT * bits)
    _each(budget, value)


def _compared(budget: Budget, value: object, *_args: object) -> None:
    budget.weigh(value)


def _distinct(budget: Budget, value: object, case_sensitive: bool = False) -> None:
    del case_sensitive
    budget.weigh(value, per_character=4)
    _each(budget, value)


def _needle(budget: Budget, value: object, *_args: object) -> None:
    budget.needle(value)


def _html(budget: Budget, value: object) -> None:
    _as_text(budget, value, _HTML_CHARACTERS)


METHODS: Mapping[type, Mapping[str, Price]] = {
    str: {
        **dict.fromkeys(("strip", "lstrip", "rstrip", "partition", "rpartition"), _search),
        **dict.fromkeys(("find", "rfind", "index", "rindex", "count"), _search),
        **dict.fromkeys(("upper", "lower", "title", "capitalize"), _cased),
        **dict.fromkeys(("removeprefix", "removesuffix"), _read),
        **dict.fromkeys(("isdigit", "isalpha", "isalnum", "isnumeric", "isspace"), _read),
        **dict.fromkeys(("isupper", "islower", "isdecimal"), _read),
        **dict.fromkeys(("startswith", "endswith"), no_price),
        **dict.fromkeys(("split", "rsplit"), _split),
        **{"splitlines": _splitlines, "replace": _replace, "join": _join, "format": _braces},
    },
    dict: dict.fromkeys(("get", "keys", "values", "items"), no_price),
    list: dict.fromkeys(("index", "count"), _compared),
    tuple: dict.fromkeys(("index", "count"), _compared),
}

FILTERS: Mapping[str, Price] = {
    **dict.fromkeys(("default", "d", "first", "last", "length", "count", "abs"), no_price),
    "items": no_price,
    **dict.fromkeys(("map", "select", "reject", "selectattr", "rejectattr"), _each),
    **dict.fromkeys(("upper", "lower", "capitalize"), _cased),
    **dict.fromkeys(("string", "safe"), _as_text),
    **{"int": _number, "float": _number},
    **dict.fromkeys(("escape", "e"), _html),
    **dict.fromkeys(("min", "max", "unique"), _distinct),
    **{"title": _title, "trim": _trim, "replace": _replace, "join": _joined, "indent": _indent},
    **{"format": _percent, "list": _listed, "reverse": _listed, "dictsort": sort_price},
}
"""But `tojson` and `sort`, whose prices are above. Items of `join` and `unique` are plain."""

TESTS: Mapping[str, Price] = {
    **dict.fromkeys(("==", "eq", "equalto", "!=", "ne"), _compared),
    **dict.fromkeys((">", "gt", "greaterthan", ">=", "ge"), _compared),
    **dict.fromkeys(("<", "lt", "lessthan", "<=", "le"), _compared),
    **dict.fromkeys(("lower", "upper"), _as_text),
    "in": _needle,
}
"""Of tests that read what they are asked about; the others cost no more than a call."""


def method_price(owner: object, name: str) -> Price | None:
    """Return the price of a method; None of one that templates may not call."""
    for kind, prices in METHODS.items():
        if isinstance(owner, kind):
            return prices.get(name)
    return None


def growth(*values: object) -> int:
    """Return how many characters become of one: text marked as safe escapes what joins it."""
    return 1 + _HTML_CHARACTERS if any(hasattr(each, "__html__") for each in values) else 1


def operator_price(budget: Budget, operator: str, left: Any, right: Any) -> None:
    """Pay for a text or a list that an operator makes. Raises SecurityError for huge numbers."""
    times = growth(left, right)
    if operator == "%" and isinstance(left, str):
        for _ in range(times):
            _percent(budget, left, right)
    elif operator == "+":
        budget.spend(times * (_size(left) + _size(right)))
    elif operator in ("*", "**") and isinstance(left, int) and isinstance(right, int):
        more = right if operator == "**" else 1 + right.bit_length()
        if left.bit_length() * more > MAX_BITS:
            raise SecurityError(f"a number takes more than {MAX_BITS} bits")
    elif operator == "*":
        budget.spend(_size(left) * _times(right) + _size(right) * _times(left))


def made_price(budget: Budget, value: object) -> None:
    """Pay for a slice: what is cut is no larger than what there was."""
    budget.spend(_size(value))


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    return ITEM * len(cast("Sized", value)) if isinstance(value, list | tuple) else 0


def _times(value: object) -> int:
    return max(0, value) if isinstance(value, int) else 0
