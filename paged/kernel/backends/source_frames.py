"""From addresses in a kernel's library to the functions and lines that were inlined there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PLACE = re.compile(r"^(?P<file>.+):(?P<line>\d+|\?)(?: \(discriminator \d+\))?$")
_ADDRESS = re.compile(r"^0x[0-9a-f]+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A function, and the line in it. file: its name without folders."""

    function: str
    file: str
    line: int


def source_frames(library: Path, offsets: Sequence[int]) -> dict[int, tuple[Frame, ...]]:
    """Return the frames at each address relative to the library's base, the innermost first.

    Without `addr2line`, and where it knows nothing, there are none.
    """
    program = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if program is None or not offsets:
        return dict.fromkeys(offsets, ())
    distinct = sorted(set(offsets))
    command = [program, "-e", str(library), "-a", "-i", "-f", "-C"]
    text = "\n".join(map(hex, distinct)) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    groups: list[list[str]] = []
    for line in done.stdout.splitlines():
        if _ADDRESS.match(line):
            groups.append([])
        elif groups:
            groups[-1].append(line)
    found = {offset: _frames(group) for offset, group in zip(distinct, groups, strict=False)}
    return {offset: found.get(offset, ()) for offset in offsets}


def _frames(lines: Sequence[str]) -> tuple[Frame, ...]:
    """Read pairs of lines: a function, then its file and line."""
    frames: list[Frame] = []
    for function, place in zip(lines[::2], lines[1::2], strict=False):
        found = _PLACE.match(place)
        if found is not None and found["line"] not in {"?", "0"}:
            file = found["file"].rpartition("/")[2]
            frames.append(Frame(function=function, file=file, line=int(found["line"])))
    return tuple(frames)
