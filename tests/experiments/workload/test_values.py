"""Values of trace fields: what is accepted and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.workload.errors import WorkloadError
from experiments.workload.values import (
    MAX_LENGTH_TOKENS,
    parse_block_ids,
    parse_date,
    parse_milliseconds,
    parse_nanoseconds,
    parse_number,
    parse_seconds,
    parse_tokens,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("0", 0), (" 17 ", 17), ("12.0", 12), ("1e3", 1000), (7, 7), (7.0, 7), ("+5", 5)],
)
def test_whole_lengths_are_accepted(value: object, expected: int) -> None:
    tokens = parse_tokens(value)
    assert tokens == expected
    assert type(tokens) is int


@pytest.mark.parametrize(
    "value",
    ["-1", -1, "nan", float("nan"), "inf", float("inf"), "1.5", 1.5, "", "x", "1_0", "0x10",
     "\u0661", None, True, [3], MAX_LENGTH_TOKENS + 1, str(10**30), 10**400, "9" * 5000],
)  # fmt: skip
def test_other_lengths_are_refused(value: object) -> None:
    with pytest.raises(WorkloadError, match="expected a"):
        parse_tokens(value)


def test_the_longest_length_is_accepted() -> None:
    assert parse_tokens(MAX_LENGTH_TOKENS) == MAX_LENGTH_TOKENS


def test_number_keeps_sign_and_fraction() -> None:
    assert parse_number("-.25e1") == -2.5


def test_times_become_seconds() -> None:
    assert parse_seconds("61.114") == 61.114
    assert parse_milliseconds(3000) == 3.0
    assert parse_nanoseconds(46_926_808) == pytest.approx(0.046926808)


def test_date_takes_seven_digits_and_means_utc() -> None:
    assert parse_date("1970-01-01 00:01:01.5000000") == 61.5
    assert parse_date("1970-01-01 01:00:00+01:00") == 0.0


@pytest.mark.parametrize("value", ["yesterday", "", 5, None, "2023-13-01 00:00:00"])
def test_what_is_no_date_is_refused(value: object) -> None:
    with pytest.raises(WorkloadError, match="expected a date"):
        parse_date(value)


def test_block_ids_become_int64() -> None:
    ids = parse_block_ids([0, 2**63 - 1])
    assert ids.dtype == np.int64
    assert ids.tolist() == [0, 2**63 - 1]
    assert len(parse_block_ids([])) == 0


@pytest.mark.parametrize("value", ["[1]", 5, None, [-1], [2**63], [1.0], [True], ["1"], [[1]]])
def test_other_block_ids_are_refused(value: object) -> None:
    with pytest.raises(WorkloadError, match="expected a list of block ids"):
        parse_block_ids(value)
