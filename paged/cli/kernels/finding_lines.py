"""A finding as a terminal shows it: what happened, at which lines of the source, what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from paged.kernel.finding import Finding, Place


def lines_of(finding: Finding) -> Iterator[str]:
    """Tell one finding, its places with the text of their lines."""
    what, *more = finding.message.splitlines() or [""]
    yield f"{finding.kind}: {finding.kernel} {what}"
    yield from (f"  {line}" for line in more)
    yield from _place_lines("at", finding.place)
    if finding.other is not None:
        yield from _place_lines("the other at", finding.other)
    yield f"  -> {finding.advice}"


def _place_lines(which: str, place: Place) -> Iterator[str]:
    callers = (Place(file=file, line=line) for file, line in place.callers)
    yield from _line_of(which, replace(place, callers=()))
    for caller in callers:
        yield from _line_of("called at", caller)


def _line_of(which: str, place: Place) -> Iterator[str]:
    if not str(place):
        return
    yield f"  {which} {_with_short_path(place)}"
    source = _source_line(place)
    if source:
        yield f"  {place.line:>6} | {source}"


def _with_short_path(place: Place) -> str:
    """Write a place, its file as seen from the working folder where it lies in it."""
    text = str(place)
    folder = os.getcwd() + os.sep
    return text.removeprefix(folder)


def _source_line(place: Place) -> str | None:
    """Return the text of a place's line; None where no such file is to be read now."""
    if place.file is None or place.line is None:
        return None
    try:
        lines = Path(place.file).read_text(errors="replace").splitlines()
    except OSError:
        return None
    return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else None
