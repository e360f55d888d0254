"""What a sanitizer says of a kernel: one fault, at one place in the source, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal[
    "out_of_bounds",
    "write_to_input",
    "unlisted_slot",
    "uninitialized_read",
    "uninitialized_shared",
    "warp_race",
    "shared_race",
    "global_race",
    "copy_not_waited",
    "copy_never_waited",
    "divergent_barrier",
    "divergent_collective",
    "deadlock",
    "waits_for_block",
    "misaligned",
    "assertion",
    "crash",
    "timeout",
    "unwritten_output",
    "order_dependent",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
Triple = tuple[int, int, int]

ADVICE: Mapping[Kind, str] = {
    "out_of_bounds": "compare the index with the sizes of the operand or array before the access",
    "write_to_input": "write to an out or inout operand, or declare this one inout",
    "unlisted_slot": "read only slots that the block table names, before the sequence's end",
    "uninitialized_read": "write the element first: outputs and workspaces start undefined",
    "uninitialized_shared": "write the element first, in every block",
    "warp_race": "put __syncwarp() between the accesses: shuffles and mma order no memory",
    "shared_race": "put __syncthreads() between the accesses",
    "global_race": "order the accesses: __syncthreads() in a block; between blocks "
    "__threadfence() before one atomic and after another, or a second launch",
    "copy_not_waited": "wait for the copy's group, and have a barrier for other threads",
    "copy_never_waited": "wait for all groups before the thread ends",
    "divergent_barrier": "move the barrier to where every thread of the block passes",
    "divergent_collective": "let exactly the lanes of the mask come to the same call",
    "deadlock": "let every thread that another waits for come there",
    "waits_for_block": "take work in the order of an atomic counter, or make two launches",
    "misaligned": "use narrower accesses, or have the alignment checked",
    "assertion": "see what the kernel asserts",
    "crash": "check the pointers, the indices and the recursion of that line",
    "timeout": "find the loop that does not end, or raise the time limit",
    "unwritten_output": "let the grid cover every element, those of empty rows too",
    "order_dependent": "let results depend on indices alone, not on who comes first, "
    "and set local variables before they are read",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line of the source, and a thread that was there.

    Attributes:
        file, line: None where they are not known.
        callers: files and lines that the calls came by, the innermost first.
        block, thread: blockIdx and threadIdx; None where the fault is no thread's.

    """

    file: str | None = None
    line: int | None = None
    callers: tuple[tuple[str, int], ...] = ()
    block: Triple | None = None
    thread: Triple | None = None

    def __str__(self) -> str:
        parts = [] if self.file is None else [f"{self.file}:{self.line}"]
        parts += [f"called at {file}:{line}" for file, line in self.callers]
        parts += [] if self.block is None else [f"block {self.block}"]
        parts += [] if self.thread is None else [f"thread {self.thread}"]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault of a kernel.

    Attributes:
        kernel: the entry.
        message: what happened, in words.
        operand: the operand concerned; None for none, or for shared memory.
        index: its element, where it has one.
        other: the earlier access that this one conflicts with.

    """

    kind: Kind
    kernel: str
    message: str
    place: Place
    operand: str | None = None
    index: tuple[int, ...] | None = None
    other: Place | None = None

    @property
    def advice(self) -> str:
        """What to do."""
        return ADVICE[self.kind]

    @property
    def line(self) -> int | None:
        """The line of the source, where it is known."""
        return self.place.line

    @property
    def site(self) -> tuple[object, ...]:
        """What findings have in common that one change of the source would mend."""
        places = (self.place, self.other or Place())
        return self.kind, self.operand, *((place.file, place.line) for place in places)

    def __str__(self) -> str:
        places = [str(self.place)] if str(self.place) else []
        places += [] if self.other is None else [f"the other: {self.other}"]
        where = f" ({'; '.join(places)})" if places else ""
        return f"{self.kind}: kernel {self.kernel} {self.message}{where}; {self.advice}"
