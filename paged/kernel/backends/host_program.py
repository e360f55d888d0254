"""Host kernels of a computation in order, run again by one call: the CUDA graph of a CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import groupby
from typing import Any

from paged.kernel.backends.host import Host

Action = Callable[[], object]

_program: ContextVar[HostProgram | None] = ContextVar("paged_host_program", default=None)


class HostCall:
    """A host kernel with all that it is handed, in memory that this keeps.

    function: takes a record, element types and the number of threads. record: a ctypes struct.
    """

    __slots__ = ("address", "function", "host", "keep", "types")

    def __init__(
        self, host: Host, function: Any, address: int, types: ctypes.Array[Any], keep: object
    ) -> None:
        self.host = host
        self.function = function
        self.address = address
        self.types = types
        self.keep = keep

    def run(self) -> None:
        """Run it, and add it to the program that is being recorded, if one is."""
        self.function(self.address, self.types, self.host.num_threads)
        add_to_recording(self)


def kernel_function(host: Host, name: str) -> Any:
    """Return the function of a host kernel, as `HostCall` takes it."""
    return host.function(f"paged_host_{name}", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


class HostProgram:
    """What ran between its recording's begin and end.

    Calls of host kernels that follow each other run as one call of the library; between them
    may be other actions. The memory of operands is its maker's to keep.
    """

    def __init__(self) -> None:
        self._steps: list[HostCall | Action] = []
        self.fault: str | None = None

    def add(self, step: HostCall | Action) -> None:
        """Append a kernel, or what is called with nothing."""
        self._steps.append(step)

    def spoil(self, what: str) -> None:
        """Take note that it cannot be repeated, of the first reason alone."""
        if self.fault is None:
            self.fault = what

    def runner(self) -> Action:
        """Return what runs all of it again. Raises: what its actions raise."""
        parts: list[Action] = []
        for is_call, group in groupby(self._steps, lambda step: isinstance(step, HostCall)):
            steps: list[Any] = list(group)
            parts += [_native(steps)] if is_call else steps

        def run() -> None:
            for part in parts:
                part()

        return run


@contextmanager
def recording() -> Generator[HostProgram, None, None]:
    """Record the host kernels that run inside the block, in this thread."""
    program = HostProgram()
    token = _program.set(program)
    try:
        yield program
    finally:
        _program.reset(token)


def add_to_recording(step: HostCall | Action) -> None:
    """Let a recording, if there is one, do something here."""
    program = _program.get()
    if program is not None:
        program.add(step)


def spoil_recording(what: str) -> None:
    """Tell a recording, if there is one, that something ran that it cannot repeat."""
    program = _program.get()
    if program is not None:
        program.spoil(what)


class _Call(ctypes.Structure):
    """`paged_host::Call` of kernels_cu/host/replay.cpp."""

    _fields_ = (
        ("run", ctypes.c_void_p),
        ("record", ctypes.c_void_p),
        ("types", ctypes.c_void_p),
    )


def _native(calls: list[HostCall]) -> Action:
    host = calls[0].host
    table = (_Call * len(calls))(
        *(
            _Call(
                ctypes.cast(call.function, ctypes.c_void_p).value,
                call.address,
                ctypes.addressof(call.types),
            )
            for call in calls
        )
    )
    replay = host.function("paged_host_replay", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int)
    kept = [(call.keep, call.types) for call in calls]
    return partial(_run, replay, table, len(calls), host.num_threads, kept)


def _run(
    replay: Any, table: ctypes.Array[_Call], count: int, num_threads: int, _kept: object
) -> None:
    replay(table, count, num_threads)
