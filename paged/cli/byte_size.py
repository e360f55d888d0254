"""Amounts of memory on a command line: `16GiB`, `500MB`, `65536`."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError

_UNITS = {
    **{"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12},
    **{"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
}
# Of a smaller number without a unit nobody means bytes.
_LEAST_BARE_BYTES = 4096
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)", re.ASCII)


def byte_size(text: str) -> int:
    """Return the bytes that a text names. Raises ArgumentTypeError.

    >>> byte_size("1.5KiB")
    1536
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or found[2] not in _UNITS:
        raise ArgumentTypeError(
            f"expected an amount of memory above 0, such as 16GiB or 500MB, got {text!r:.40}"
        )
    if not found[2] and 0 < float(found[1]) < _LEAST_BARE_BYTES:
        number = found[1]
        raise ArgumentTypeError(f"expected a unit, got {number}: write {number}GiB, or {number}B")
    num_bytes = int(float(found[1]) * _UNITS[found[2]])
    if num_bytes <= 0:
        raise ArgumentTypeError(f"expected an amount of memory above 0, got {text!r:.40}")
    return num_bytes


def shown(num_bytes: float) -> str:
    """Return an amount in the largest unit that leaves it above 1.

    >>> shown(3 * 2**29)
    '1.50 GiB'
    """
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if num_bytes >= _UNITS[unit]:
            return f"{num_bytes / _UNITS[unit]:.2f} {unit}"
    return f"{num_bytes:.0f} B"
