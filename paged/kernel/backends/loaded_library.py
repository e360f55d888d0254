"""A compiled library in this process's memory."""

from __future__ import annotations

import ctypes
from ctypes import c_void_p
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from paged.kernel.backends.runtime_library import Runtime
from paged.kernel.backends.structures import Module
from paged.kernel.backends.translation import DYNAMIC_SHARED
from paged.kernel.elf import variable_places

LINKER_NAMES = {"completed.0"}

Bytes = npt.NDArray[np.uint8]


class LoadedLibrary:
    """A library, which is never unloaded, and its variables as they were when it came."""

    def __init__(self, path: Path, runtime: Runtime) -> None:
        self.path = path
        self.handle = ctypes.CDLL(str(path))
        self.module = Module()
        first = ctypes.cast(self.handle.paged_entry_0, c_void_p)
        runtime.library.paged_describe_module(first, ctypes.byref(self.module))
        if hasattr(self.handle, f"{DYNAMIC_SHARED}_address"):
            function = getattr(self.handle, f"{DYNAMIC_SHARED}_address")
            self.module.dynamic_shared = ctypes.cast(function, c_void_p).value
        self.first_values = self.read_values()
        self.places = self._read_places()
        """Offset in the values and size in bytes of each variable, by mangled name."""

    def read_values(self) -> Bytes:
        """Return a copy of all writable memory of the library, range after range."""
        ranges = self.module.writable[: self.module.num_writable]
        return np.frombuffer(
            b"".join(ctypes.string_at(part.begin, part.num_bytes) for part in ranges), np.uint8
        )

    def write_values(self, values: Bytes) -> None:
        """Set all writable memory of the library."""
        at = 0
        for part in self.module.writable[: self.module.num_writable]:
            chunk = values[at : at + part.num_bytes].tobytes()
            ctypes.memmove(part.begin, chunk, part.num_bytes)
            at += part.num_bytes

    def _read_places(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for name, (address, num_bytes) in variable_places(self.path.read_bytes()).items():
            offset = self._offset(address)
            if offset is not None and not name.startswith("__") and name not in LINKER_NAMES:
                found[name] = offset, num_bytes
        return found

    def _offset(self, address: int) -> int | None:
        at = 0
        for part in self.module.writable[: self.module.num_writable]:
            inside = self.module.base + address - part.begin
            if 0 <= inside < part.num_bytes:
                return at + inside
            at += part.num_bytes
        return None


@cache
def load_library(path: Path, runtime: Runtime) -> LoadedLibrary:
    """Return the library of a file, loaded once a process."""
    return LoadedLibrary(path, runtime)
