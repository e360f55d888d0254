"""Amounts of memory: what is read and how it is shown."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from paged.cli.byte_size import byte_size, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("16GiB", 16 * 2**30), ("16 GiB", 16 * 2**30), ("1.5GB", 1_500_000_000)),
        *(("4096", 4096), ("7B", 7), ("1kB", 1000), ("1KB", 1000), ("2MiB", 2**21)),
        *(("0.5TiB", 2**39), ("80GB", 80 * 10**9)),
    ],
)
def test_an_amount_is_read(text: str, expected: int) -> None:
    assert byte_size(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "GiB", "0", "0GiB", "-1GiB", "1gb", "1e9", "nan", "1.GiB", "1GiBs", "٣GiB", "9" * 99],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="an amount of memory above 0"):
        byte_size(text)


@pytest.mark.parametrize("text", ["80", "1.5", "4095"])
def test_a_small_number_needs_a_unit(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"a unit, got {text}: write {text}GiB, or {text}B"):
        byte_size(text)
    assert byte_size(f"{text}B") == int(float(text))


@pytest.mark.parametrize(
    ("num_bytes", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (2**30, "1.00 GiB"),
        (3 * 2**39, "1.50 TiB"),
    ],
)
def test_an_amount_is_shown_in_its_largest_unit(num_bytes: int, expected: str) -> None:
    assert shown(num_bytes) == expected
