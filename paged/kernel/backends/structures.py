"""What Python and the interpreter's runtime tell each other, in C's layout.

The counterparts are `kernels_cu/interpret/runtime/{launch,control,report,findings}.h`.
"""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

from paged.kernel.backends.settings import Settings
from paged.kernel.launch import LaunchRequest

MAX_AXES = 12
MAX_WRITABLE_RANGES = 4
MAX_FRAMES = 24
MAX_FINDINGS = 32
MAX_FINDING_FRAMES = 12


class Range(Structure):
    """Bytes of variables at namespace scope."""

    _fields_ = [("begin", c_void_p), ("num_bytes", c_size_t)]


class Module(Structure):
    """A kernel's library in memory."""

    _fields_ = [
        ("tls_module", c_size_t),
        ("tls_bytes", c_size_t),
        ("dynamic_shared", c_void_p),
        ("writable", Range * MAX_WRITABLE_RANGES),
        ("num_writable", c_uint32),
        ("base", c_uint64),
        ("num_bytes", c_uint64),
    ]


class Request(Structure):
    """What to run in this process."""

    _fields_ = [
        ("entry", c_void_p),
        ("arguments", c_void_p),
        ("module", POINTER(Module)),
        ("shared_bytes", c_uint64),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("seed", c_uint64),
        ("is_seeded", c_uint32),
        ("poison", c_uint32),
        ("num_workers", c_uint32),
        ("is_observed", c_uint32),
        ("is_sanitized", c_uint32),
        ("refuses_waits", c_uint32),
        ("profile", c_void_p),
    ]


def launch_fields(request: LaunchRequest, settings: Settings) -> dict[str, Any]:
    """Return the fields that a `Request` and a `Control` share."""
    return {
        "shared_bytes": request.shared_bytes,
        "grid": request.grid,
        "block": request.block,
        "seed": settings.seed,
        "is_seeded": settings.is_seeded,
        "poison": settings.poison,
        "num_workers": settings.num_workers,
        "is_observed": settings.is_observed,
        "is_sanitized": settings.is_sanitized,
        "refuses_waits": settings.refuses_waits,
    }


class Region(Structure):
    """Memory of one or more overlapping operands."""

    _fields_ = [
        ("offset", c_uint64),
        ("lead_bytes", c_uint64),
        ("num_bytes", c_uint64),
        ("num_room_bytes", c_uint64),
        ("mapped", c_uint64),
        ("is_written", c_uint32),
        ("is_large", c_uint32),
    ]


class Counts(Structure):
    """What an observed launch did with one operand."""

    _fields_ = [
        ("num_reads", c_uint64),
        ("num_writes", c_uint64),
        ("read_bytes", c_uint64),
        ("write_bytes", c_uint64),
        ("read_sector_bytes", c_uint64),
        ("write_sector_bytes", c_uint64),
    ]


class Operand(Structure):
    """A tensor, and where its address lies in the arguments."""

    _fields_ = [
        ("address", c_uint64),
        ("region", c_uint32),
        ("argument", c_uint32),
        ("argument_offset", c_uint32),
        ("is_poisoned", c_uint32),
        ("element_bytes", c_uint32),
        ("num_axes", c_uint32),
        ("num_bytes", c_uint64),
        ("origin", c_uint64),
        ("sizes", c_int64 * MAX_AXES),
        ("strides", c_int64 * MAX_AXES),
        ("defined_offset", c_uint64),
        ("has_defined", c_uint32),
        ("is_written", c_uint32),
        ("counts", Counts),
    ]


class ArgumentBytes(Structure):
    """Where a kernel parameter lies in the arena."""

    _fields_ = [("offset", c_uint64), ("num_bytes", c_uint64)]


class Report(Structure):
    """How a launch ended, or failed."""

    _fields_ = [
        ("is_claimed", c_int32),
        ("failure", c_int32),
        ("signal", c_int32),
        ("access", c_int32),
        ("address", c_uint64),
        ("has_lane", c_uint32),
        ("has_address", c_uint32),
        ("block", c_uint32 * 3),
        ("thread", c_uint32 * 3),
        ("num_frames", c_uint32),
        ("line", c_int32),
        ("column", c_int32),
        ("frames", c_uint64 * MAX_FRAMES),
        ("file", c_char * 512),
        ("text", c_char * 4096),
        ("processor_ns", c_uint64),
    ]


class Control(Structure):
    """What to run in a child process, and how it ended."""

    _fields_ = [
        ("num_bytes", c_uint64),
        ("entry_offset", c_uint64),
        ("shared_bytes", c_uint64),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("seed", c_uint64),
        ("is_seeded", c_uint32),
        ("poison", c_uint32),
        ("num_workers", c_uint32),
        ("num_regions", c_uint32),
        ("num_operands", c_uint32),
        ("num_arguments", c_uint32),
        ("is_observed", c_uint32),
        ("is_sanitized", c_uint32),
        ("refuses_waits", c_uint32),
        ("unused", c_uint32),
        ("regions_offset", c_uint64),
        ("operands_offset", c_uint64),
        ("arguments_offset", c_uint64),
        ("findings_offset", c_uint64),
        ("variables_offset", c_uint64),
        ("num_variable_bytes", c_uint64),
        ("child", c_int32),
        ("has_finished", c_uint32),
        ("report", Report),
    ]


class Actor(Structure):
    """A thread of the grid, by linear indices."""

    _fields_ = [("block", c_uint32), ("thread", c_uint32)]


class Finding(Structure):
    """What a sanitized launch found at one place."""

    _fields_ = [
        ("kind", c_uint32),
        ("space", c_uint32),
        ("operand", c_uint32),
        ("num_bytes", c_uint32),
        ("offset", c_int64),
        ("is_write", c_uint32),
        ("has_other", c_uint32),
        ("is_other_write", c_uint32),
        ("num_frames", c_uint32),
        ("actor", Actor),
        ("other", Actor),
        ("frames", c_uint64 * MAX_FINDING_FRAMES),
        ("other_frame", c_uint64),
    ]


class Findings(Structure):
    """All that a sanitized launch found."""

    _fields_ = [
        ("num_findings", c_uint32),
        ("num_left_out", c_uint32),
        ("found", Finding * MAX_FINDINGS),
    ]


class Order(Structure):
    """What the server is sent, before the path of the kernel's library."""

    _fields_ = [
        ("num_control_bytes", c_uint64),
        ("num_workers", c_uint32),
        ("num_threads", c_uint32),
    ]


class Answer(Structure):
    """What the server answers when a launch has ended."""

    _fields_ = [("status", c_int32), ("message", c_char * 1024)]
