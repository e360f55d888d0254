"""Values of a trace's fields, checked; errors say what was expected and what came.

Values come as text from CSV and as numbers or lists from JSON.
"""

from __future__ import annotations

import datetime
import math
import re
from typing import cast

import numpy as np

from experiments.workload.errors import WorkloadError, require
from paged.types import IndexArray

MAX_LENGTH_TOKENS = 2**24
"""Longest believable prompt or output: above every context window (10 M tokens so far)."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_number(text: str) -> bool:
    """Tell whether a text is a number, as files write them."""
    return _NUMBER.fullmatch(text.strip()) is not None


def parse_number(value: object) -> float:
    """Parse a finite number; bool is none, nor is text that only Python reads as one.

    Raises: WorkloadError for anything else.
    """
    is_valid = type(value) in (int, float) or (isinstance(value, str) and is_number(value))
    try:
        number = float(cast("str | float", value)) if is_valid else math.nan
    except OverflowError:
        number = math.inf
    require(math.isfinite(number), f"expected a finite number, got {value!r:.60}")
    return number


def parse_tokens(value: object) -> int:
    """Parse a length in tokens.

    Raises: WorkloadError unless it is a whole number from 0 to MAX_LENGTH_TOKENS.
    """
    number = parse_number(value)
    require(
        number.is_integer() and 0 <= number <= MAX_LENGTH_TOKENS,
        f"expected a whole number of tokens from 0 to {MAX_LENGTH_TOKENS}, got {value!r:.60}",
    )
    return int(number)


def parse_seconds(value: object) -> float:
    """Parse a time in seconds. Raises: WorkloadError unless it is a finite number."""
    return parse_number(value)


def parse_milliseconds(value: object) -> float:
    """Parse a time in milliseconds and return seconds. Raises as parse_seconds."""
    return parse_number(value) / 1e3


def parse_nanoseconds(value: object) -> float:
    """Parse a time in nanoseconds and return seconds. Raises as parse_seconds."""
    return parse_number(value) / 1e9


def parse_date(value: object) -> float:
    """Parse an ISO date and time, UTC if it names no zone, and return epoch seconds.

    Raises: WorkloadError for anything else.
    """
    try:
        date = datetime.datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError as error:
        raise WorkloadError(
            f"expected a date such as 2023-11-16 18:15:46.6805900, got {value!r:.60}"
        ) from error
    return (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp()


def parse_block_ids(value: object) -> IndexArray:
    """Parse a list of block ids. Raises: WorkloadError unless all are int64, from 0 on."""
    ids = cast("list[object]", value) if isinstance(value, list) else None
    if ids is None or not all(type(item) is int and 0 <= item < 2**63 for item in ids):
        raise WorkloadError(f"expected a list of block ids, 0 <= id < 2**63, got {value!r:.60}")
    return np.array(ids, dtype=np.int64)
