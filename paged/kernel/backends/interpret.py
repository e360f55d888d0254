"""Run CUDA sources on the CPU: compiled by the host compiler, one fiber a thread."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy.typing as npt
import torch

from paged.errors import ConfigError, KernelRunError, KernelTimeout, OperandError
from paged.kernel.backends.access_text import AccessText
from paged.kernel.backends.ended import Ended
from paged.kernel.backends.failure_text import Failure, failure_text, what_happened
from paged.kernel.backends.finding_reader import FindingReader, explains, found_of, without_effects
from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.in_place import run_in_place
from paged.kernel.backends.isolated import run_isolated
from paged.kernel.backends.kernel_library import Kernel, KernelLibrary, build_library
from paged.kernel.backends.launch_memory import LaunchMemory, launch_memory
from paged.kernel.backends.notes import Notes
from paged.kernel.backends.runtime_library import load_runtime
from paged.kernel.backends.settings import Guard, Settings
from paged.kernel.backends.structures import Counts
from paged.kernel.backends.variables import Variables
from paged.kernel.finding import Finding
from paged.kernel.launch import LaunchRequest
from paged.kernel.shared_memory import why_too_large
from paged.kernel.source import KernelSource

MAX_WORKERS = 16
"""Each may need two memory mappings for every thread of its block, of which Linux allows 65530."""
SEED_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpretConfig:
    """How kernels are interpreted.

    Attributes:
        seed: None runs lanes and blocks in natural order, a number in an order drawn from it.
        poison: the byte that undefined memory holds.
        timeout_s: how long a launch may take.
        num_workers: OS threads that run blocks, 16 at most; None for one a core.
        isolate: run in a child process, so that no kernel can harm the caller. Else launches run
            on the caller's own memory: a wild access can change it or end the process, and what a
            kernel wrote before it failed stays. Loops then cost more, so that time can be watched.
        guard: the side at which operands touch unreadable memory, in isolation.
        optimize: effort of the host compiler.
        observe: compile a call in at each access to memory, so that they can be counted:
            `InterpretProgram.run`. Several times as slow; needs g++.
        sanitize: compile so too, and judge each access: `InterpretProgram.sanitize`. Isolated.
        refuse_waits: fail where a block waits for another. Isolated, as sanitized launches are,
            and on one OS thread, as they are too.

    """

    seed: int | None = None
    poison: int = 0xFF
    timeout_s: float = 60.0
    num_workers: int | None = None
    isolate: bool = True
    guard: Guard = "end"
    optimize: Literal["-O1", "-O2"] = "-O1"
    observe: bool = False
    sanitize: bool = False
    refuse_waits: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.poison <= 0xFF:
            raise ConfigError(f"poison must be a byte, 0 to 255, got {self.poison}")
        if not self.timeout_s > 0:
            raise ConfigError(f"timeout_s must be above 0, got {self.timeout_s}")
        if self.num_workers is not None and not 1 <= self.num_workers <= MAX_WORKERS:
            raise ConfigError(f"num_workers must be 1 to {MAX_WORKERS}, got {self.num_workers}")
        if self._is_judged and (self.observe or not self.isolate):
            raise ConfigError("a launch that is judged is isolated, and not observed as well")

    @property
    def _is_judged(self) -> bool:
        return self.sanitize or self.refuse_waits

    @property
    def settings(self) -> Settings:
        """The same, with everything decided."""
        num_cores = len(os.sched_getaffinity(0))
        return Settings(
            seed=0 if self.seed is None else self.seed & SEED_MASK,
            is_seeded=self.seed is not None,
            poison=self.poison,
            num_workers=1 if self._is_judged else self.num_workers or min(MAX_WORKERS, num_cores),
            timeout_s=self.timeout_s,
            guard=self.guard,
            is_observed=self.observe,
            is_sanitized=self.sanitize,
            refuses_waits=self._is_judged,
        )


@dataclass(frozen=True, slots=True)
class InterpretBackend:
    """Compiles for this CPU. Raises BackendUnavailable without a compiler, or off x86-64."""

    config: InterpretConfig
    name: str = "interpret"

    def build(self, source: KernelSource) -> InterpretProgram:
        """Compile a source, or find it compiled.

        Raises KernelCompileError with the compiler's text; UnsupportedFeature for what cannot
        be interpreted.
        """
        compiler = find_compiler()
        loaded = load_runtime(compiler)
        library = build_library(
            *(source, compiler, loaded, self.config.optimize),
            observed=self.config.observe,
            sanitized=self.config.sanitize,
            counted=not self.config.isolate,
        )
        return InterpretProgram(library, self.config)


class InterpretProgram:
    """The kernels of one source, loaded into this process."""

    def __init__(self, library: KernelLibrary, config: InterpretConfig) -> None:
        self._library = library
        self._config = config
        self._variables = Variables(library.loaded)

    def afresh(self) -> InterpretProgram:
        """Return the same kernels with variables that nothing has changed yet."""
        return InterpretProgram(self._library, self._config)

    def launch(self, request: LaunchRequest) -> None:
        """Run one entry. Mutates the out, inout and workspace tensors of the request.

        Raises KernelRunError where the kernel fails, with the tensors unchanged if the launch is
        isolated; OperandError where the arguments do not fit the kernel.
        """
        self.run(request)

    def run(self, request: LaunchRequest) -> Ended:
        """Run one entry as `launch` does, and return what it took.

        There are no counts where the program was not built to be observed.
        """
        if request.is_empty:
            return Ended(counts=tuple(Counts() for _ in request.pointers))
        kernel = self._library.kernel(request.entry)
        _check(kernel, request)
        memory = launch_memory(request)
        run = run_isolated if self._config.isolate else run_in_place
        ended = run(self._library, self._variables, request, memory, self._config.settings)
        if isinstance(ended, Ended):
            return ended
        error = KernelTimeout if ended.is_timeout else KernelRunError
        places = () if ended.report is None else self._library.places(ended.report)
        access_text = self._access_text(request, memory, ended)
        timeout_s = self._config.timeout_s
        raise error(failure_text(request.entry, ended, access_text, places, timeout_s))

    def sanitize(self, request: LaunchRequest, notes: Notes) -> tuple[Finding, ...]:
        """Run one entry as `launch` does, and return what is wrong with it.

        Mutates: the notes; the out, inout and workspace tensors where the kernel did not fail.
        """
        if request.is_empty:
            return ()
        _check(self._library.kernel(request.entry), request)
        memory = launch_memory(request)
        ended = run_isolated(
            self._library, self._variables, request, memory, self._config.settings, notes=notes
        )
        reader = FindingReader(library=self._library, request=request, memory=memory)
        raw = [one for one in found_of(notes.findings) if not reader.is_compilers(one)]
        found = without_effects([reader.read(one) for one in raw])
        if isinstance(ended, Ended):
            notes.processor_s = ended.processor_s
            return found
        access_text = self._access_text(request, memory, ended)
        what = what_happened(ended, access_text, self._config.timeout_s)
        failed = reader.read_failure(ended, what)
        return found if explains(found, failed) else (*found, failed)

    def _access_text(
        self, request: LaunchRequest, memory: LaunchMemory, ended: Failure
    ) -> AccessText:
        return AccessText(
            memory=memory,
            mapped=ended.mapped,
            left_out=self._left_out(request),
            poison=self._config.poison,
        )

    def _left_out(self, request: LaunchRequest) -> list[str]:
        """Return the names of operands that a launch has no memory of."""
        given = {pointer.operand for pointer in request.pointers}
        return [name for name in self._library.source.operands if name not in given]

    def write_variable(self, name: str, value: npt.NDArray[Any]) -> None:
        """Set a variable at namespace scope; later launches see it.

        Raises OperandError where there is none of this name, or its size in bytes differs.
        """
        self._variables.write(name, value)

    def copy_to_variable(self, name: str, source: torch.Tensor) -> None:
        """Set a variable to the bytes of a tensor. Raises OperandError as `write_variable` does."""
        self._variables.write(name, source.contiguous().reshape(-1).view(torch.uint8).numpy())

    def read_variable(
        self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]
    ) -> npt.NDArray[Any]:
        """Return a copy of a variable. Raises OperandError as `write_variable` does."""
        return self._variables.read(name, dtype, shape)


def _check(kernel: Kernel, request: LaunchRequest) -> None:
    got = tuple(argument.nbytes for argument in request.arguments)
    if got != kernel.parameter_bytes:
        raise OperandError(
            f"kernel {request.entry}: expected parameters of {kernel.parameter_bytes} bytes, got "
            f"{got}; compare the kernel's parameter list with its description"
        )
    why = why_too_large(kernel.static_shared_bytes, request.shared_bytes)
    if why is not None:
        raise OperandError(f"kernel {request.entry}: {why}")
