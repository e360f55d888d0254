"""Launches in this process, on the caller's own memory."""

from __future__ import annotations

import ctypes
import sys
from ctypes import addressof, byref, c_void_p, pointer

from paged.kernel.backends.ended import Ended
from paged.kernel.backends.failure_text import Failure
from paged.kernel.backends.kernel_library import KernelLibrary
from paged.kernel.backends.launch_memory import LaunchMemory
from paged.kernel.backends.profile_structures import Profile
from paged.kernel.backends.settings import Settings
from paged.kernel.backends.structures import Report, Request, launch_fields
from paged.kernel.backends.variables import Variables
from paged.kernel.launch import LaunchRequest

TEXT_BYTES = 65536
NS_PER_S = 1e9
MAX_TIMEOUT_NS = (1 << 64) - 1


def run_in_place(
    library: KernelLibrary,
    variables: Variables,
    request: LaunchRequest,
    memory: LaunchMemory,
    settings: Settings,
    *,
    profile: Profile | None = None,
) -> Failure | Ended:
    """Run a launch here; return how it failed, or ended.

    What it prints is passed on at its end.
    profile: what an observed launch adds its instructions to.

    Mutates the tensors that the kernel writes, and the variables, in any case.
    """
    operands = memory.operands()
    for operand, extent in zip(operands, memory.extents, strict=True):
        operand.address = extent.begin
    arguments = (c_void_p * max(1, len(request.arguments)))(
        *(argument.ctypes.data for argument in request.arguments)
    )
    what = Request(
        entry=library.kernel(request.entry).address,
        arguments=addressof(arguments),
        module=pointer(library.module),
        **launch_fields(request, settings),
        profile=None if profile is None else addressof(profile),
    )
    runtime = library.runtime.library
    if not variables.is_empty:
        variables.install()
    timeout_ns = int(min(settings.timeout_s * NS_PER_S, MAX_TIMEOUT_NS))
    run = runtime.paged_run(byref(what), operands, len(operands), timeout_ns)
    if not variables.is_empty:
        variables.collect()
    try:
        _pass_text_on(runtime, run)
        report = Report.from_buffer_copy(runtime.paged_run_report(run).contents)
    finally:
        runtime.paged_end_run(run)
    if not report.is_claimed:
        is_observed = settings.is_observed
        counts = tuple(operand.counts for operand in operands) if is_observed else ()
        return Ended.of(report, counts)
    return Failure(report=report, mapped=tuple(span.begin for span in memory.spans), death="")


def _pass_text_on(runtime: ctypes.CDLL, run: int) -> None:
    buffer = ctypes.create_string_buffer(TEXT_BYTES)
    text = b""
    while num_bytes := runtime.paged_take_text(run, buffer, TEXT_BYTES):
        text += buffer.raw[:num_bytes]
    sys.stdout.write(text.decode(errors="replace"))
