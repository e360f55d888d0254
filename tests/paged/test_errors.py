"""The error classes: what a caller can catch, and what the texts say."""

from __future__ import annotations

import pytest

from paged.errors import (
    ConfigError,
    IntegrityError,
    OutOfBlocks,
    PagedError,
    RequestRefused,
    UnknownRow,
    check,
)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (ConfigError, ValueError),
        (RequestRefused, ValueError),
        (UnknownRow, KeyError),
        (IntegrityError, AssertionError),
    ],
)
def test_each_error_is_ours_and_of_the_builtin_kind(
    error: type[PagedError], builtin: type[Exception]
) -> None:
    assert issubclass(error, PagedError)
    assert issubclass(error, builtin)


def test_out_of_blocks_says_how_many_and_what_to_do() -> None:
    error = OutOfBlocks(num_needed=5, num_available=2)
    assert (error.num_needed, error.num_available) == (5, 2)
    assert str(error) == "needed 5 blocks, 2 available; preempt a sequence and retry"


def test_running_out_is_no_bug() -> None:
    assert not issubclass(OutOfBlocks, IntegrityError)


def test_check_raises_only_where_the_invariant_is_broken() -> None:
    check(True, "never shown")
    with pytest.raises(IntegrityError, match=r"^block 3 is owned twice$"):
        check(False, "block 3 is owned twice")
