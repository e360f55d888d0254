"""Launches in a process of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from ctypes import sizeof
from math import prod

from paged.kernel.backends.ended import Ended
from paged.kernel.backends.failure_text import Failure
from paged.kernel.backends.kernel_library import KernelLibrary
from paged.kernel.backends.launch_memory import LaunchMemory, Span
from paged.kernel.backends.notes import Notes
from paged.kernel.backends.server import Server, ServerLost
from paged.kernel.backends.settings import Settings
from paged.kernel.backends.sparse_copy import LARGE_BYTES, PAGE_BYTES, copy_in, copy_out
from paged.kernel.backends.structures import (
    ArgumentBytes,
    Control,
    Counts,
    Operand,
    Order,
    Region,
    launch_fields,
)
from paged.kernel.backends.variables import Variables
from paged.kernel.launch import LaunchRequest

KEPT_ALIGNMENT_BYTES = 16
"""Operands keep their addresses' remainders, so that vector loads stay as aligned as they were."""
ARGUMENT_ALIGNMENT_BYTES = 64
SHORT_OF_MEMORY_STATUS = 4


def run_isolated(
    library: KernelLibrary,
    variables: Variables,
    request: LaunchRequest,
    memory: LaunchMemory,
    settings: Settings,
    *,
    notes: Notes | None = None,
) -> Failure | Ended:
    """Run a launch in a child process; return how it failed, or ended.

    Mutates the tensors that the kernel writes, and the variables, after success only; the notes of
    a sanitized launch in any case.
    Raises KernelRunError where no process can be had. Where that is since files of the cache are
    gone, they are compiled again first.
    """
    try:
        return _run(library, variables, request, memory, settings, notes=notes)
    except ServerLost:
        if not library.restore():
            raise
    return _run(library, variables, request, memory, settings, notes=notes)


def _run(
    library: KernelLibrary,
    variables: Variables,
    request: LaunchRequest,
    memory: LaunchMemory,
    settings: Settings,
    *,
    notes: Notes | None,
) -> Failure | Ended:
    image, regions = pack(library, variables.pack(), request, memory, settings, notes=notes)
    order = Order(
        num_control_bytes=len(image),
        num_workers=min(settings.num_workers, prod(request.grid)),
        num_threads=prod(request.block),
    )
    with library.runtime.servers.server() as server:
        is_large = any(region.is_large for region in regions)
        end = max((r.offset + r.num_room_bytes for r in regions), default=len(image))
        server.resize(end, fresh=is_large)
        os.pwrite(server.arena, image, 0)
        for region, span in zip(regions, memory.spans, strict=True):
            copy_in(server.arena, region.offset + region.lead_bytes, span.begin, span.num_bytes)
        answer = server.run(bytes(order) + os.fsencode(library.loaded.path), settings.timeout_s)
        if answer.status < 0:
            raise ServerLost(f"cannot start a launch: {answer.message.decode()}")
        ended = _outcome(answer.status, server, regions, len(memory.extents), settings)
        if notes is not None:
            notes.read_back(server.arena)
        if isinstance(ended, Ended):
            _bring_back(server, variables, memory, regions)
        server.shrink()
        return ended


def pack(
    library: KernelLibrary,
    variables: bytes,
    request: LaunchRequest,
    memory: LaunchMemory,
    settings: Settings,
    *,
    notes: Notes | None = None,
) -> tuple[bytearray, list[Region]]:
    """Return the arena's first bytes, and the regions behind them."""
    control = Control(
        entry_offset=library.kernel(request.entry).address - library.module.base,
        **launch_fields(request, settings),
        num_regions=len(memory.spans),
        num_operands=len(memory.extents),
        num_arguments=len(request.arguments),
        num_variable_bytes=len(variables) // 2,
    )
    control.regions_offset = _up(sizeof(Control), ARGUMENT_ALIGNMENT_BYTES)
    control.operands_offset = control.regions_offset + sizeof(Region) * len(memory.spans)
    control.arguments_offset = control.operands_offset + sizeof(Operand) * len(memory.extents)
    at = control.arguments_offset + sizeof(ArgumentBytes) * len(request.arguments)
    places: list[ArgumentBytes] = []
    for argument in request.arguments:
        at = _up(at, ARGUMENT_ALIGNMENT_BYTES)
        places.append(ArgumentBytes(offset=at, num_bytes=argument.nbytes))
        at += argument.nbytes
    control.variables_offset = at
    at += len(variables)
    operands = memory.operands()
    if notes is not None:
        names = [extent.pointer.operand for extent in memory.extents]
        at = notes.place(control, operands, names, at)
    control.num_bytes = at
    regions = list(_regions(memory.spans, _up(control.num_bytes, PAGE_BYTES), settings))
    image = bytearray(control.num_bytes)
    parts = [(0, bytes(control)), (control.variables_offset, variables)]
    parts += [(control.regions_offset, b"".join(map(bytes, regions)))]
    parts += [(control.operands_offset, bytes(operands))]
    parts += [(control.arguments_offset, b"".join(map(bytes, places)))]
    parts += [(p.offset, a.tobytes()) for p, a in zip(places, request.arguments, strict=True)]
    for offset, data in (*parts, *(() if notes is None else notes.parts())):
        image[offset : offset + len(data)] = data
    return image, regions


def _regions(spans: tuple[Span, ...], offset: int, settings: Settings) -> Iterator[Region]:
    for span in spans:
        room_bytes = _up(span.num_bytes + KEPT_ALIGNMENT_BYTES, PAGE_BYTES)
        remainder = span.begin % KEPT_ALIGNMENT_BYTES
        last = room_bytes - span.num_bytes
        at_end = last - (last - remainder) % KEPT_ALIGNMENT_BYTES
        yield Region(
            offset=offset,
            lead_bytes=remainder if settings.guard == "begin" else at_end,
            num_bytes=span.num_bytes,
            num_room_bytes=room_bytes,
            is_written=span.is_written,
            is_large=span.num_bytes >= LARGE_BYTES,
        )
        offset += room_bytes


def _outcome(
    status: int, server: Server, regions: list[Region], num_operands: int, settings: Settings
) -> Failure | Ended:
    control = Control.from_buffer_copy(os.pread(server.arena, sizeof(Control), 0))
    if control.has_finished and os.waitstatus_to_exitcode(status) == 0:
        counts = _counts(server, control, num_operands) if settings.is_observed else ()
        return Ended.of(control.report, counts)
    data = os.pread(server.arena, sizeof(Region) * len(regions), control.regions_offset)
    mapped = tuple(region.mapped for region in (Region * len(regions)).from_buffer_copy(data))
    report = control.report if control.report.is_claimed else None
    return Failure(report=report, mapped=mapped, death=_death(status))


def _counts(server: Server, control: Control, num_operands: int) -> tuple[Counts, ...]:
    data = os.pread(server.arena, sizeof(Operand) * num_operands, control.operands_offset)
    operands = (Operand * num_operands).from_buffer_copy(data)
    return tuple(operand.counts for operand in operands)


def _death(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"its process was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    if os.WEXITSTATUS(status) == SHORT_OF_MEMORY_STATUS:
        return "its process ended before the kernel did; is memory short?"
    return (
        f"the kernel ended its process, with exit status {os.WEXITSTATUS(status)}; "
        f"return from the kernel instead, or call __trap()"
    )


def _bring_back(
    server: Server, variables: Variables, memory: LaunchMemory, regions: list[Region]
) -> None:
    for region, span in zip(regions, memory.spans, strict=True):
        if span.is_written:
            offset = region.offset + region.lead_bytes
            copy_out(server.arena, offset, span.begin, span.num_bytes)
    control = Control.from_buffer_copy(os.pread(server.arena, sizeof(Control), 0))
    num_bytes = 2 * control.num_variable_bytes
    variables.unpack(os.pread(server.arena, num_bytes, control.variables_offset))


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
