"""Call a specified kernel on tensors, on a GPU or in the interpreter."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from threading import Lock
from time import monotonic
from typing import Literal

import torch

from paged.errors import KernelSourceError, OperandError
from paged.kernel.backends.host_program import spoil_recording
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.binding import Binding, Number, Outputs, bind, returned
from paged.kernel.instance import instantiate
from paged.kernel.launch import Backend, Program
from paged.kernel.memory import check_memory, check_writable
from paged.kernel.plan import Build, ReadyCall, build_of
from paged.kernel.plans import Given, Plans, Tensors
from paged.kernel.sanitize import SanitizeConfig, sanitize_call
from paged.kernel.spec import KernelSpec

LOOK_INTERVAL_S = 0.001
"""How long what was seen of files holds. Common file systems tell no times apart that lie closer,
and for a kernel of a dozen headers looking takes longer than all else of a call."""

Interpret = bool | InterpretConfig | Literal["sanitize"] | SanitizeConfig
"""Whether, and how, a kernel is run on the CPU."""

FileStamp = tuple[int, int]
"""When a file was modified, in ns, and its size in bytes."""

_launched: ContextVar[set[Kernel] | None] = ContextVar("paged_launched", default=None)


def kernel_call(
    spec: KernelSpec,
    *operands: torch.Tensor | None,
    interpret: Interpret = False,
    **scalars: Number | None,
) -> Outputs:
    """Run a kernel on tensors and return its outputs.

    The `in` and `inout` operands are passed in the spec's order, None for an optional one that
    is left out; numbers go by keyword. With `interpret`, the CUDA source is compiled for the CPU
    and run on CPU tensors; else it runs on the tensors' GPU, on torch's current stream. With
    "sanitize", or a `SanitizeConfig`, every access of it is judged.

    Mutates: inout operands.
    Returns: None, one tensor or a tuple, after the number of `out` operands.
    Raises: OperandError for operands that do not match; KernelSourceError, KernelCompileError,
        UnsupportedFeature and KernelRunError for the kernel's faults, SanitizerError among the
        latter; BackendUnavailable.
    Source: `jax.experimental.pallas.pallas_call`, for the form of the call.
    """
    return run_kernel(spec, Given.of(operands, scalars), interpret)


def run_kernel(spec: KernelSpec, given: Given, interpret: Interpret) -> Outputs:
    """Run a kernel on what a call was given, as `kernel_call` does."""
    if interpret == "sanitize":
        return sanitize_call(spec, given.operands, given.numbers, SanitizeConfig())
    if isinstance(interpret, SanitizeConfig):
        return sanitize_call(spec, given.operands, given.numbers, interpret)
    spoil_recording(f"{spec.name}, which is no host kernel")
    call = ready_call_of(spec, given)
    backend = backend_for(spec, given.operands, interpret)
    if interpret is not False:
        check_writable(spec, given.operands)
    kernel_for(spec, backend).run(call)
    return returned(call.outputs)


def ready_call_of(spec: KernelSpec, given: Given) -> ReadyCall:
    """Return a call that can be launched: by the plan of calls like it, else checked and planned.

    Whether its memory can be written is not looked at.
    Raises: OperandError for operands that do not match, or whose memory cannot serve.
    """
    plans = plans_for(spec)
    call = plans.ready(given)
    if call is not None:
        return call
    binding = bind(spec, given.operands, given.numbers)
    check_memory(binding)
    return plans.add(binding)


def backend_for(spec: KernelSpec, operands: Tensors, interpret: bool | InterpretConfig) -> Backend:
    """Return the backend for tensors of this device."""
    device = next((t.device for t in operands if t is not None), torch.device("cpu"))
    if interpret is not False:
        if device.type != "cpu":
            raise OperandError(
                f"{spec.name}: the interpreter runs on CPU tensors, got {device}; pass .cpu()"
            )
        return interpreter(_config(spec, interpret))
    if device.type != "cuda":
        raise OperandError(
            f"{spec.name}: expected tensors on a CUDA device, got {device}; "
            f"pass interpret=True to run the kernel on the CPU"
        )
    return cuda_backend()


def _config(spec: KernelSpec, interpret: object) -> InterpretConfig:
    if interpret is True:
        return InterpretConfig()
    if isinstance(interpret, InterpretConfig):
        return interpret
    raise OperandError(
        f"{spec.name}: interpret must be True, False or an InterpretConfig, got {interpret!r}"
    )


@lru_cache(maxsize=32)
def interpreter(config: InterpretConfig) -> InterpretBackend:
    """Return the interpreter with this configuration, the same one each time."""
    return InterpretBackend(config)


@lru_cache(maxsize=1)
def cuda_backend() -> Backend:
    """Return the CUDA backend. Raises BackendUnavailable without CuPy or a device."""
    from paged.kernel.backends.cuda import CudaBackend

    return CudaBackend()


@lru_cache(maxsize=1024)
def plans_for(spec: KernelSpec) -> Plans:
    """Return the plans of a spec, the same ones each time."""
    return Plans(spec)


@lru_cache(maxsize=1024)
def kernel_for(spec: KernelSpec, backend: Backend) -> Kernel:
    """Return the kernel of a spec on a backend, the same one each time."""
    return Kernel(spec, backend)


@contextmanager
def launched_kernels() -> Generator[set[Kernel], None, None]:
    """Yield what fills with the kernels that run inside the block.

    Who records launches, to make them again without a call, sees by `Kernel.is_current` when
    they are out of date.
    """
    kernels = set[Kernel]()
    token = _launched.set(kernels)
    try:
        yield kernels
    finally:
        _launched.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    """Programs, and the files they were built from as they then were."""

    paths: tuple[str, ...] = ()
    stamps: tuple[FileStamp, ...] = ()
    programs: Mapping[Build, Program] = field(default_factory=dict[Build, Program])

    @property
    def is_current(self) -> bool:
        """Whether every file is as it was."""
        try:
            return _stamps(self.paths) == self.stamps
        except OSError:
            return False


class Kernel:
    """A spec on one backend, with the programs built so far. Threads may use it at once.

    A changed source file or header takes effect at the next run, `LOOK_INTERVAL_S` after the
    files were last looked at.
    """

    def __init__(self, spec: KernelSpec, backend: Backend) -> None:
        self.spec = spec
        self.backend = backend
        self._built = _Built()
        self._looked_s = -inf
        self._building = Lock()

    @property
    def is_current(self) -> bool:
        """Whether every file that its programs were built from is as it was."""
        return self._built.is_current

    def run(self, call: ReadyCall) -> None:
        """Launch a call. Mutates its inout, out and workspace tensors."""
        launched = _launched.get()
        if launched is not None:
            launched.add(self)
        program = self._program(call.build)
        for name, tensor in call.variables.items():
            program.copy_to_variable(name, tensor)
        for launch in call.launches:
            program.launch(launch)

    def program(self, binding: Binding) -> Program:
        """Return the program for a call's types and constants; compile it where it is new."""
        return self._program(build_of(binding))

    def _program(self, build: Build) -> Program:
        program = self._find(build)
        if program is not None:
            return program
        with self._building:
            return self._find(build) or self._build(build)

    def _find(self, build: Build) -> Program | None:
        built = self._built
        program = built.programs.get(build)
        now_s = monotonic()
        if program is None or now_s - self._looked_s < LOOK_INTERVAL_S:
            return program
        if not built.is_current:
            return None
        self._looked_s = now_s
        return program

    def _build(self, build: Build) -> Program:
        types, constants = build
        source = instantiate(self.spec, dict(types), dict(constants))
        paths = tuple(map(str, source.files))
        try:
            stamps = _stamps(paths)
        except OSError as error:
            raise KernelSourceError(f"cannot read kernel source: {error}") from error
        program = self.backend.build(source)
        before = self._built
        programs = {build: program}
        if (paths, stamps) == (before.paths, before.stamps):
            programs = {**before.programs, **programs}
        self._built = _Built(paths=paths, stamps=stamps, programs=programs)
        return program


def _stamps(paths: Sequence[str]) -> tuple[FileStamp, ...]:
    return tuple([(stat.st_mtime_ns, stat.st_size) for stat in map(os.stat, paths)])
