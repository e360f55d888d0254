"""Sizes as text."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paged.errors import KernelSourceError
from paged.kernel.expression import Expression, cdiv, expression, next_pow2
from tests.helpers.open_sizes import open_size

SIZES = {"num_tokens": 13, "head_dim": 80, "zero": 0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("num_tokens", 13),
        ("num_tokens*head_dim + 2", 1042),
        ("-num_tokens // 4", -4),
        ("cdiv(num_tokens, 4)", 4),
        ("min(num_tokens, head_dim, 5)", 5),
        ("max(zero, 1)", 1),
        ("next_pow2(head_dim)", 128),
        ("head_dim % 8 == 0", 1),
        ("head_dim % 64 == 0 or num_tokens < 5", 0),
        ("not zero and 1 <= num_tokens <= 13", 1),
    ],
)
def test_values(text: str, value: int) -> None:
    assert Expression(text).evaluate(SIZES) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "head_dim.bit_length()",
        "[1][0]",
        "2.5",
        "True",
        "'a'",
        "abs(head_dim)",
        "cdiv",
        "cdiv(a=1)",
        "lambda: 1",
        "head_dim / 2",
        "head_dim ** 2",
        "1 if zero else 2",
        "",
        "1 +",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(KernelSourceError):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [("size", "s"), ("cdiv(size, 4)", "s"), ("size + 1", "s"), ("next_pow2(size)", None)],
)
def test_sizes_that_a_trace_leaves_open_stay_open(text: str, kept: str | None) -> None:
    size = open_size(13)
    value = Expression(text).evaluate({"size": size})
    assert isinstance(value, torch.SymInt) == (kept is not None)
    assert int(value) == Expression(text).evaluate({"size": 13})


@pytest.mark.parametrize("text", ["max()", "cdiv(1)", "next_pow2(1, 2)", "min(3)"])
def test_a_wrong_number_of_arguments_is_an_error_of_the_text(text: str) -> None:
    with pytest.raises(KernelSourceError, match=r"argument|iterable"):
        Expression(text).evaluate(SIZES)


def test_names_leave_out_functions() -> None:
    assert Expression("cdiv(a, b) + max(c, 1)").names == {"a", "b", "c"}


def test_unknown_size_lists_the_known() -> None:
    with pytest.raises(KernelSourceError, match=r"head_dims.*known sizes: head_dim, num_tokens"):
        Expression("head_dims").evaluate(SIZES)


def test_division_by_a_zero_size() -> None:
    with pytest.raises(KernelSourceError, match="divides by zero"):
        Expression("num_tokens // zero").evaluate(SIZES)


@given(st.integers(0, 10**9), st.integers(1, 10**6))
def test_cdiv_is_the_least_cover(dividend: int, divisor: int) -> None:
    quotient = cdiv(dividend, divisor)
    assert quotient * divisor >= dividend
    assert (quotient - 1) * divisor < dividend


@given(st.integers(1, 2**40))
def test_next_pow2_is_the_least(value: int) -> None:
    power = next_pow2(value)
    assert power >= value
    assert power & (power - 1) == 0
    assert power // 2 < value


@pytest.mark.parametrize("text", ["-" * 5000 + "1", "+".join("1" * 20000)])
def test_what_nests_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(KernelSourceError, match=r"'.{40}\.\.\.' nests too deeply"):
        expression(text).evaluate({})


def test_values_have_64_bits() -> None:
    assert expression("n * n").evaluate({"n": 2**31}) == 2**62
    for text in ("n * n", "-n * n", "n * " * 700 + "n"):
        with pytest.raises(KernelSourceError, match="takes more than 64 bits"):
            expression(text).evaluate({"n": 2**32})
