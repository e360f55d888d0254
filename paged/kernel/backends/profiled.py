"""Launches whose instructions are profiled: in this process, each by its place in the code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from paged.errors import KernelRunError
from paged.kernel.backends.failure_text import Failure
from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.in_place import run_in_place
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.backends.kernel_library import KernelLibrary, build_library
from paged.kernel.backends.launch_memory import launch_memory
from paged.kernel.backends.profile_structures import PROFILE_KINDS, Profile, ProfileLine
from paged.kernel.backends.runtime_library import load_runtime
from paged.kernel.backends.source_frames import Frame, source_frames
from paged.kernel.backends.variables import Variables
from paged.kernel.launch import LaunchRequest
from paged.kernel.source import KernelSource

_MAX_LINES = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What one instruction of a kernel did in a launch.

    Attributes:
        kind: one of `PROFILE_KINDS`.
        frames: functions and lines that it was inlined through, the innermost first. A
            collective's first one is where its caller says that it is.
        num_requests: times that a warp executed it. num_lanes: lanes of all these.
        num_sectors: of 32 bytes of global memory.
        num_wavefronts: in which banks of shared memory served it; least: without a conflict.

    """

    kind: str
    frames: tuple[Frame, ...]
    num_requests: int
    num_lanes: int
    num_bytes: int
    num_sectors: int
    num_wavefronts: int
    least_wavefronts: int


class ProfiledProgram:
    """The kernels of a source, built to be profiled.

    They run on the caller's own memory: a kernel must be known to run well before.
    Raises: as `InterpretBackend.build`; BackendUnavailable without g++.
    """

    def __init__(self, source: KernelSource) -> None:
        compiler = find_compiler()
        runtime = load_runtime(compiler)
        self._config = InterpretConfig(isolate=False, observe=True)
        self._library: KernelLibrary = build_library(
            source, compiler, runtime, self._config.optimize, observed=True, counted=True
        )
        self._variables = Variables(self._library.loaded)

    def copy_to_variable(self, name: str, source: torch.Tensor) -> None:
        """Set a variable to the bytes of a tensor. Raises OperandError where there is none."""
        self._variables.write(name, source.contiguous().reshape(-1).view(torch.uint8).numpy())

    def profile(self, request: LaunchRequest) -> tuple[list[Instruction], int]:
        """Run one entry; return its instructions, and the most bytes in flight of a block.

        Mutates the tensors of the request. Raises KernelRunError where the kernel fails.
        """
        if request.is_empty:
            return [], 0
        lines = (ProfileLine * _MAX_LINES)()
        profile = Profile(lines=lines, capacity=_MAX_LINES)
        memory = launch_memory(request)
        settings = self._config.settings
        ended = run_in_place(
            self._library, self._variables, request, memory, settings, profile=profile
        )
        if isinstance(ended, Failure):
            raise KernelRunError(f"{request.entry}: it failed when it was profiled; run it first")
        found = lines[: min(int(profile.num_lines), _MAX_LINES)]
        return self._instructions(found), int(profile.most_bytes_in_flight)

    def _instructions(self, lines: Sequence[ProfileLine]) -> list[Instruction]:
        base = self._library.module.base
        # the call lies before the address that it returns to
        places: list[int] = [int(line.place) - base - 1 for line in lines]
        frames = source_frames(self._library.loaded.path, places)
        names = ("num_requests", "num_lanes", "num_bytes", "num_sectors")
        return [
            Instruction(
                kind=PROFILE_KINDS[int(line.kind)],
                frames=(*_told(line), *frames[place]),
                **{name: int(getattr(line, name)) for name in names},
                num_wavefronts=int(line.num_wavefronts),
                least_wavefronts=int(line.least_wavefronts),
            )
            for line, place in zip(lines, places, strict=True)
        ]


def _told(line: ProfileLine) -> tuple[Frame, ...]:
    if line.file is None:
        return ()
    file = line.file.decode(errors="replace").rpartition("/")[2]
    return (Frame(function="", file=file, line=line.line),)
