"""The array that an index in a source belongs to."""

from __future__ import annotations

import re

from paged.kernel.backends.translation import blank_hidden

_INDEX = r"\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]"
"""Brackets and what stands in them, nested three deep at most."""
_MEMBER = rf"\w+(?:\s*{_INDEX})*\s*(?:\.|->|::)\s*"
_INDEXED = re.compile(rf"(?P<array>(?:{_MEMBER})*\w+(?:\s*{_INDEX})*?)\s*{_INDEX}$")


def indexed_array(text: str, line: int, column: int) -> str | None:
    """Return the array, as the source has it, whose index ends at a bracket.

    Args:
        text: of the source.
        line: from 1.
        column: of the closing bracket, in bytes from 1: where g++ has an index.

    Returns: None where no bracket is there, as in a macro's expansion, or no name before it.

    """
    lines = text.splitlines(keepends=True)
    if not 0 < line <= len(lines):
        return None
    before = lines[line - 1].encode()[:column].decode(errors="replace")
    code = blank_hidden(text)[: len("".join(lines[: line - 1])) + len(before)]
    statement = code[max(code.rfind(mark) for mark in ";{}") + 1 :]
    found = _INDEXED.search(statement)
    return None if found is None else " ".join(found["array"].split())
