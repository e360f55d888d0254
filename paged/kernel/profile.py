"""What a kernel does in a call, by line of its source: traffic, bank conflicts, instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from paged.kernel.backends.profiled import Instruction, ProfiledProgram
from paged.kernel.backends.source_frames import Frame
from paged.kernel.binding import bind
from paged.kernel.instance import instantiate, requests
from paged.kernel.memory import check_memory, check_writable
from paged.kernel.plan import ready_call
from paged.kernel.problem import Problem
from paged.kernel.spec import KernelSpec
from paged.kernel.traffic import Traffic, measure_traffic

# Where a kernel does what it was asked to by others' lines.
_PRIMITIVES = ("portable", "fragments.h", "collective.h", "warp.h", "atomic", "small_float")

_SECTOR_BYTES = 32

# Of functions by what their names hold, the first that fits.
_CLASSES = (
    ("mma", ("MmaInput", "mma_m16n8k16")),
    ("load_matrix", ("Registers<", "ldmatrix")),
    ("barrier", ("__syncthreads", "sync_block")),
    ("warp_barrier", ("__syncwarp", "sync_warp")),
)
_COLLECTIVE = "shuffle_or_vote"
_ASYNC = "async_copy"

CLASSES = (
    *("global_read", "global_write", "global_atomic", _ASYNC),
    *("shared_read", "shared_write", "shared_atomic"),
    *(_COLLECTIVE, *(name for name, _ in _CLASSES)),
)
"""Instructions are counted by these; arithmetic is not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What warps executed.

    Attributes:
        num_requests: instructions of warps. num_lanes: lanes that took part in them.
        num_bytes: what lanes asked for.
        num_sectors: of 32 bytes of global memory, that warps asked for.
        num_wavefronts: in which banks of shared memory served them, one after another.
        least_wavefronts: as many would do without a bank conflict.

    """

    num_requests: int = 0
    num_lanes: int = 0
    num_bytes: int = 0
    num_sectors: int = 0
    num_wavefronts: int = 0
    least_wavefronts: int = 0

    @property
    def sectors_per_request(self) -> float | None:
        """Sectors of one instruction of a warp; None where none touched global memory."""
        return self.num_sectors / self.num_requests if self.num_sectors else None

    @property
    def bytes_over_asked(self) -> float | None:
        """Bytes of sectors over those that lanes asked for: 1 is fully coalesced."""
        return self.num_sectors * _SECTOR_BYTES / self.num_bytes if self.num_sectors else None

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the least."""
        return self.num_wavefronts - self.least_wavefronts

    @classmethod
    def sum(cls, tallies: Iterable[Tally | Instruction]) -> Tally:
        """Add several up."""
        each = list(tallies)
        return cls(**{f.name: sum(getattr(one, f.name) for one in each) for f in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class LineProfile:
    """What one class of instructions did at one line."""

    file: str
    line: int
    kind: str
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile:
    """What one call of a kernel did.

    Attributes:
        traffic: bytes by operand, beside the least.
        lines: by file, line and class of instruction, those with most requests first.
        bytes_in_flight: most of asynchronous copies that the threads of a block had at once; each
            thread counts at its own peak.

    """

    traffic: Traffic
    lines: tuple[LineProfile, ...]
    bytes_in_flight: int

    @property
    def classes(self) -> Mapping[str, Tally]:
        """All lines together, by class of instruction; classes without any are left out."""
        by_kind = {
            kind: [each.tally for each in self.lines if each.kind == kind] for kind in CLASSES
        }
        return {kind: Tally.sum(tallies) for kind, tallies in by_kind.items() if tallies}

    @property
    def total(self) -> Tally:
        """All lines together."""
        return Tally.sum(each.tally for each in self.lines)

    @property
    def wavefronts_over_minimum(self) -> float | None:
        """Wavefronts of shared memory over the least: 1 has no bank conflict; None for none."""
        total = self.total
        return total.num_wavefronts / total.least_wavefronts if total.least_wavefronts else None


def profile_kernel(spec: KernelSpec, problem: Problem) -> KernelProfile:
    """Run a call on the CPU and count what its instructions do.

    The call is run apart from this process first, which a kernel may harm.
    Mutates: inout operands, twice.
    Raises: what `kernel_call` raises; BackendUnavailable without g++.
    """
    operands = problem.operands
    numbers: dict[str, Any] = {**problem.numbers}
    traffic = measure_traffic(spec, *operands, **numbers)
    binding = bind(spec, operands, numbers)
    check_memory(binding)
    check_writable(spec, operands)
    program = ProfiledProgram(instantiate(spec, binding.types, binding.sizes))
    call = ready_call(binding, requests(binding))
    for name, tensor in call.variables.items():
        program.copy_to_variable(name, tensor)
    found: list[Instruction] = []
    bytes_in_flight = 0
    for launch in call.launches:
        instructions, in_flight = program.profile(launch)
        found += instructions
        bytes_in_flight = max(bytes_in_flight, in_flight)
    return KernelProfile(traffic=traffic, lines=by_line(found), bytes_in_flight=bytes_in_flight)


def by_line(instructions: Sequence[Instruction]) -> tuple[LineProfile, ...]:
    """Add instructions of one line and class up."""
    groups: dict[tuple[str, int, str], list[Instruction]] = {}
    for each in instructions:
        frame = asked_at(each.frames)
        groups.setdefault((frame.file, frame.line, class_of(each)), []).append(each)
    lines = [
        LineProfile(file=file, line=line, kind=kind, tally=Tally.sum(group))
        for (file, line, kind), group in groups.items()
    ]
    return tuple(sorted(lines, key=lambda each: (-each.tally.num_requests, each.file, each.line)))


def asked_at(frames: Sequence[Frame]) -> Frame:
    """Return the innermost frame that is no primitive's: where a kernel says what to do."""
    own = (frame for frame in frames if not frame.file.startswith(_PRIMITIVES))
    last = frames[-1] if frames else Frame(function="", file="?", line=0)
    return next(own, last)


def class_of(instruction: Instruction) -> str:
    """Return one of `CLASSES`."""
    names = [frame.function for frame in instruction.frames]
    if instruction.kind == "global_read" and any("cp_async" in name for name in names):
        return _ASYNC
    if instruction.kind != "collective":
        return instruction.kind
    for kind, marks in _CLASSES:
        if any(mark in name for mark in marks for name in names):
            return kind
    return _COLLECTIVE
