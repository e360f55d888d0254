"""From what the interpreter's runtime found to findings: names, indices, lines and words."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from paged.kernel.backends import structures
from paged.kernel.backends.failure_text import (
    FAULT,
    MESSAGE,
    STOPPED,
    STRAY_WRITE,
    Failure,
)
from paged.kernel.backends.indexed_array import indexed_array
from paged.kernel.backends.kernel_library import GUARD, KernelLibrary
from paged.kernel.backends.launch_memory import Extent, LaunchMemory
from paged.kernel.backends.symbolizer import SourceLine
from paged.kernel.finding import Finding, Kind, Place, Triple
from paged.kernel.launch import LaunchRequest

WARP_SIZE = 32
OPERAND, STATIC_SHARED = 0, 1
OUT_OF_BOUNDS, WRITE_TO_INPUT, UNDEFINED_READ, RACE, COPY_IN_FLIGHT = 1, 2, 3, 4, 5

_MESSAGES: tuple[tuple[str, Kind], ...] = (
    ("divergent barrier", "divergent_barrier"),
    ("barrier that not all threads reach", "divergent_barrier"),
    ("divergent collective", "divergent_collective"),
    ("deadlock", "deadlock"),
    ("waits for another block", "waits_for_block"),
    ("the thread ended with", "copy_never_waited"),
    ("the block wrote", "out_of_bounds"),
    ("index ", "out_of_bounds"),
    ("assertion", "assertion"),
    ("__trap()", "assertion"),
)
"""How the runtime's own messages begin."""


def found_of(findings: structures.Findings) -> list[structures.Finding]:
    """Return what a launch found, in the order of its accesses."""
    return list(findings.found[: findings.num_findings])


def without_effects(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Leave out what follows from another fault at the same lines, or is one once more.

    A copy that nobody waits for makes races, and a race makes reads of undefined memory.
    """
    once: dict[tuple[object, ...], Finding] = {}
    for one in found:
        once.setdefault(one.site, one)
    copies = _lines([one for one in once.values() if one.kind == "copy_not_waited"])
    kept = [one for one in once.values() if not (_is_race(one) and _lines([one]) <= copies)]
    raced = _lines([one for one in kept if _is_race(one)])
    return tuple(
        one for one in kept if not (one.kind.startswith("uninitialized") and _lines([one]) <= raced)
    )


def _is_race(finding: Finding) -> bool:
    return finding.kind.endswith("_race")


def _lines(found: Sequence[Finding]) -> set[tuple[str | None, int | None]]:
    places = [place for one in found for place in (one.place, one.other) if place is not None]
    return {(place.file, place.line) for place in places}


def explains(found: Sequence[Finding], failed: Finding) -> bool:
    """Whether a failure is what some access that was found is bound to end in."""
    ends = ("out_of_bounds", "write_to_input")
    return failed.kind in ends and any(finding.kind in ends for finding in found)


@dataclass(frozen=True, kw_only=True)
class FindingReader:
    """Reads the findings of one launch."""

    library: KernelLibrary
    request: LaunchRequest
    memory: LaunchMemory

    def read(self, found: structures.Finding) -> Finding:
        """Return a finding of the sanitizer's."""
        operand, index, where = self._where(found)
        return Finding(
            kind=self._kind(found),
            kernel=self.request.entry,
            message=self._message(found, where),
            place=self._place(found.actor, found.frames[: found.num_frames]),
            operand=operand,
            index=index,
            other=self._place(found.other, [found.other_frame]) if found.has_other else None,
        )

    def read_failure(self, failure: Failure, message: str) -> Finding:
        """Return what ended a launch as a finding, with what happened in words."""
        report = failure.report
        if report is None:
            return Finding(kind="crash", kernel=self.request.entry, message=message, place=Place())
        place = placed(
            self.library.places(report),
            block=None if report.failure == STRAY_WRITE else _triple(report.block),
            thread=_triple(report.thread) if report.has_lane else None,
        )
        kind = self._failure_kind(report)
        message = self._with_array(report, message)
        return Finding(kind=kind, kernel=self.request.entry, message=message, place=place)

    def _with_array(self, report: structures.Report, message: str) -> str:
        """Name the array that an index is outside of, where the source shows which."""
        text = self.library.source.text_of(report.file.decode(errors="replace"))
        if text is None or report.column == 0:
            return message
        array = indexed_array(text, report.line, report.column)
        if array is None:
            return message
        return message.replace(" outside of an array ", f" outside of {array}, an array ", 1)

    def _kind(self, found: structures.Finding) -> Kind:
        is_operand = found.space == OPERAND
        if found.kind == UNDEFINED_READ and is_operand:
            is_input = self._extent(found).pointer.intent == "in"
            return "unlisted_slot" if is_input else "uninitialized_read"
        if found.kind == RACE:
            a, b = found.actor, found.other
            if a.block == b.block and a.thread // WARP_SIZE == b.thread // WARP_SIZE:
                return "warp_race"
            return "global_race" if is_operand else "shared_race"
        kinds: dict[int, Kind] = {
            OUT_OF_BOUNDS: "out_of_bounds",
            WRITE_TO_INPUT: "write_to_input",
            UNDEFINED_READ: "uninitialized_shared",
            COPY_IN_FLIGHT: "copy_not_waited",
        }
        return kinds[found.kind]

    def _failure_kind(self, report: structures.Report) -> Kind:
        if report.failure == MESSAGE:
            return kind_of_message(report.text.decode(errors="replace"))
        if report.failure == STOPPED:
            return "timeout"
        if report.failure == STRAY_WRITE:
            return "out_of_bounds"
        if report.failure == FAULT and report.signal == signal.SIGILL:
            return "misaligned"
        return "out_of_bounds" if report.failure == FAULT and report.has_address else "crash"

    def _where(self, found: structures.Finding) -> tuple[str | None, tuple[int, ...] | None, str]:
        """Return operand and index of an access, and a text for both."""
        if found.space == STATIC_SHARED:
            return None, None, self._shared_text(int(found.offset))
        if found.space != OPERAND:
            return None, None, f"byte {found.offset} of dynamic shared memory"
        extent = self._extent(found)
        name, tensor = extent.pointer.operand, extent.pointer.tensor
        offset = int(found.offset)
        elements = offset // tensor.element_size()
        if not 0 <= offset < extent.end - extent.begin:
            past = offset - (extent.end - extent.begin)
            if offset < 0:
                side = f"{-offset} bytes before"
            else:
                side = f"{past} bytes past the end of" if past else "just past the end of"
            return name, None, f"{name}[{elements}] in memory order, {side} the operand"
        index = index_of(elements, tensor.shape, tensor.stride())
        if index is None:
            return name, None, f"memory between elements of {name}, {offset} bytes in"
        return name, index, f"{name}[{', '.join(map(str, index))}]"

    def _shared_name(self, offset: int) -> tuple[str, int] | None:
        """Return the variable at an offset, by its mangled name, and where it begins."""
        for name, (begin, num_bytes) in self.library.shared_arrays.items():
            if begin <= offset < begin + num_bytes:
                return name, begin
        return None

    def _shared_text(self, offset: int) -> str:
        found = self._shared_name(offset)
        if found is None:
            return f"byte {offset} of static shared memory"
        name, begin = found
        return f"byte {offset - begin} of {plain_name(name)} in shared memory"

    def is_compilers(self, found: structures.Finding) -> bool:
        """Whether an access is the compiler's own: to what tells if a variable was constructed."""
        name = self._shared_name(int(found.offset)) if found.space == STATIC_SHARED else None
        return name is not None and name[0].startswith(GUARD)

    def _extent(self, found: structures.Finding) -> Extent:
        return self.memory.extents[int(found.operand)]

    def _message(self, found: structures.Finding, where: str) -> str:
        verb = "writes" if found.is_write else "reads"
        what = f"{verb} {where}"
        if found.kind == UNDEFINED_READ:
            intent = self._extent(found).pointer.intent
            is_input = found.space == OPERAND and intent == "in"
            return what + (", which no table names" if is_input else ", which nobody wrote")
        if found.kind == WRITE_TO_INPUT:
            return f"{what}, which is declared in"
        if not found.has_other:
            return what
        if found.kind == COPY_IN_FLIGHT:
            return f"{what} while an asynchronous copy, the other access, is on its way there"
        # careful: who came first is the interpreter's order, which may not be the source's
        other = "writes" if found.is_other_write else "reads"
        return f"{what}, and another thread {other} it, with nothing to order the two"

    def _place(self, actor: structures.Actor, frames: Sequence[int]) -> Place:
        return placed(
            self.library.source_lines(frames),
            block=_unravel(actor.block, self.request.grid),
            thread=_unravel(actor.thread, self.request.block),
        )


def placed(lines: Sequence[SourceLine], *, block: Triple | None, thread: Triple | None) -> Place:
    """Return the place of the innermost of some lines, with the others as its callers."""
    if not lines:
        return Place(block=block, thread=thread)
    (file, line), *callers = lines
    return Place(file=file, line=line, callers=tuple(callers), block=block, thread=thread)


def plain_name(mangled: str) -> str:
    """Return a variable's name in the source."""
    found = re.search(r"E(\d+)(\w+)$|^_ZL(\d+)(\w+)$", mangled)
    if found is None:
        return mangled
    length, name = (found[1], found[2]) if found[1] else (found[3], found[4])
    return name[: int(length)]


def kind_of_message(text: str) -> Kind:
    """Return what a message of the runtime's own is about."""
    for start, kind in _MESSAGES:
        if text.startswith(start):
            return kind
    return "misaligned" if "misaligned" in text else "crash"


def _unravel(number: int, sizes: tuple[int, int, int]) -> Triple:
    x, y, _ = sizes
    return number % x, number // x % y, number // x // y


def _triple(values: Sequence[int]) -> Triple:
    x, y, z = values
    return x, y, z


def index_of(offset: int, shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """Return the index of the element so many elements behind the first; None between elements."""
    index = [0] * len(shape)
    for axis in sorted(range(len(shape)), key=lambda i: -strides[i]):
        if strides[axis] == 0:
            continue
        index[axis], offset = divmod(offset, strides[axis])
        if index[axis] >= shape[axis]:
            return None
    return tuple(index) if offset == 0 else None
