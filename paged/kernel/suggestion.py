"""What a misspelt name was meant to be."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import SequenceMatcher, get_close_matches


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'known'?` for the name most like another, nothing without one."""
    found = get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def closest_first(name: str, known: Collection[str]) -> list[str]:
    """Return names, those most like another one first."""
    return sorted(known, key=lambda other: -SequenceMatcher(None, name, other).ratio())
