"""From addresses in a kernel's library to lines of its source."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Container, Sequence
from pathlib import Path

_PLACE = re.compile(r"^(?P<file>.+):(?P<line>\d+)(?: \(discriminator \d+\))?$")


SourceLine = tuple[str, int]
"""A file, as the compiler was told its name, and a line."""


def source_lines(
    library: Path, offsets: Sequence[int], labels: Container[str]
) -> tuple[SourceLine, ...]:
    """Return the lines of some sources that a chain of calls goes through, the innermost first.

    Args:
        library: compiled with line tables.
        offsets: addresses relative to its base, the innermost frame first.
        labels: names of the source and its headers, as the compiler was told.

    Returns: nothing where `addr2line` is missing or knows none.

    """
    program = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if program is None or not offsets:
        return ()
    command = [program, "-e", str(library), "-i", *(hex(offset) for offset in offsets)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines: dict[SourceLine, None] = {}
    for text in done.stdout.splitlines():
        found = _PLACE.match(text)
        if found is None:
            continue
        # The compiler may put its working folder before a relative name.
        name = next((n for n in _suffixes(found["file"]) if n in labels), None)
        if name is not None:
            lines.setdefault((name, int(found["line"])))
    return tuple(lines)


def _suffixes(path: str) -> list[str]:
    parts = path.split("/")
    return [path, *("/".join(parts[i:]) for i in range(1, len(parts)))]
