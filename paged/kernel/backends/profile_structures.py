"""A profile in C's layout; its counterpart is `kernels_cu/interpret/runtime/profile.h`."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_char_p, c_uint32, c_uint64

PROFILE_KINDS = (
    *("global_read", "global_write", "global_atomic"),
    *("shared_read", "shared_write", "shared_atomic", "collective"),
)


class ProfileLine(Structure):
    """What one instruction did."""

    _fields_ = [
        ("place", c_uint64),
        ("file", c_char_p),
        ("line", c_uint32),
        ("kind", c_uint32),
        ("num_requests", c_uint64),
        ("num_lanes", c_uint64),
        ("num_bytes", c_uint64),
        ("num_sectors", c_uint64),
        ("num_wavefronts", c_uint64),
        ("least_wavefronts", c_uint64),
    ]


class Profile(Structure):
    """What a launch did."""

    _fields_ = [
        ("lines", POINTER(ProfileLine)),
        ("capacity", c_uint64),
        ("num_lines", c_uint64),
        ("most_bytes_in_flight", c_uint64),
    ]
