"""What a failed launch is reported as: what happened, where, and by which thread."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from ctypes import Array, c_uint32
from dataclasses import dataclass

from paged.kernel.backends.access_text import AccessText
from paged.kernel.backends.launch_memory import LaunchMemory
from paged.kernel.backends.structures import Report
from paged.kernel.backends.symbolizer import SourceLine

MESSAGE, FAULT, OVERFLOW, STOPPED, STRAY_WRITE = 1, 2, 3, 4, 5
WRITE = 2
VECTOR_BYTES = 16

_CAUSES = {
    signal.SIGFPE: "integer division by zero, or the quotient of the least integer and -1",
    signal.SIGILL: "an illegal instruction: an access at an address that is no multiple of its "
    "alignment, or code that the compiler took to be unreachable",
    signal.SIGBUS: "a bus error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a launch failed.

    Attributes:
        report: by the runtime, or None where its process died without one.
        mapped: where each span of the launch's memory lay for the kernel.
        death: what to say without a report.

    """

    report: Report | None
    mapped: Sequence[int]
    death: str

    @property
    def is_timeout(self) -> bool:
        """Whether the launch was ended because it took too long."""
        return self.report is not None and self.report.failure == STOPPED


def failure_text(
    kernel: str,
    failure: Failure,
    access_text: AccessText,
    places: Sequence[SourceLine],
    timeout_s: float,
) -> str:
    """Return the message of a failed launch: what happened, and where, with file and line.

    places: that the calls went through, the innermost first.
    """
    report = failure.report
    if report is None:
        return f"kernel {kernel}: {failure.death}"
    what, _, rest = what_happened(failure, access_text, timeout_s).partition("\n")
    where = [f"{'called ' * (i > 0)}at {file}:{line}" for i, (file, line) in enumerate(places)]
    if report.failure != STRAY_WRITE:
        where.append(f"block {_triple(report.block)}")
    if report.has_lane:
        where.append(f"thread {_triple(report.thread)}")
    told = f" ({', '.join(where)})" if where else ""
    tail = f"\n{rest.rstrip()}" if rest else ""
    return f"kernel {kernel}: {what}{told}{tail}"


def _triple(values: Array[c_uint32]) -> str:
    return "({}, {}, {})".format(*values)


def what_happened(failure: Failure, access_text: AccessText, timeout_s: float) -> str:
    """Return how a launch failed, without where."""
    report = failure.report
    if report is None:
        return failure.death
    text = report.text.decode(errors="replace")
    if report.failure == STOPPED:
        return (
            f"did not end within {timeout_s:g} s; a loop that waits for another thread must read "
            f"volatile memory, or contain an atomic, a fence or __nanosleep\n{text}"
        )
    if report.failure == OVERFLOW:
        return "stack overflow: recursion without end, or local arrays beyond 256 KiB"
    if report.failure == MESSAGE:
        return text
    cause = _CAUSES.get(signal.Signals(report.signal)) if report.signal else None
    if cause is not None:
        return cause + (_misaligned(access_text.memory) if report.signal == signal.SIGILL else "")
    return _access(report, access_text)


def _misaligned(memory: LaunchMemory) -> str:
    """Name the first operand that vector loads of 16 bytes cannot begin at."""
    for extent in memory.extents:
        past_bytes = extent.begin % VECTOR_BYTES
        if past_bytes and extent.end > extent.begin:
            return (
                f"; operand {extent.pointer.operand!r} begins {past_bytes} bytes past a multiple "
                f"of {VECTOR_BYTES}: pass a clone() of it, or have its alignment checked "
                f"(alignment_bytes, or '// paged: align')"
            )
    return ""


def _access(report: Report, access_text: AccessText) -> str:
    verb = "wrote to" if report.access == WRITE else "read from"
    if not report.has_address:
        return (
            "used an address that no memory can have; was a pointer, or an index with large "
            "steps, never written?"
        )
    return f"{verb} {access_text.of_address(report.address)}"
