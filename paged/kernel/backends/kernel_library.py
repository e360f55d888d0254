"""A CUDA source as a library of this process."""

from __future__ import annotations

import ctypes
import hashlib
from ctypes import c_size_t, c_void_p
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from paged.errors import KernelCompileError, KernelSourceError, OperandError
from paged.kernel.backends.host_compiler import HostCompiler
from paged.kernel.backends.refusal import refuse
from paged.kernel.backends.runtime_library import (
    FORCED_HEADER,
    INCLUDE_DIR,
    Runtime,
    header_fingerprint,
)
from paged.kernel.backends.server import ServerPool
from paged.kernel.backends.structures import Module, Report
from paged.kernel.backends.symbolizer import source_line
from paged.kernel.backends.translation import DYNAMIC_SHARED, translate, translate_headers
from paged.kernel.cache_dir import cache_dir, write_atomically
from paged.kernel.elf import mangled, variable_places
from paged.kernel.source import KernelSource

MAX_PARAMETERS = 1024


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry: where its launcher lies, and the sizes of its parameters."""

    address: int
    parameter_bytes: tuple[int, ...]


class KernelLibrary:
    """The compiled kernels of one source, loaded; never unloaded."""

    def __init__(self, source: KernelSource, path: Path, loaded: Runtime) -> None:
        self.path = path
        self.runtime = loaded
        self._source = source
        library = ctypes.CDLL(str(path))
        self._kernels = {
            entry: _kernel(library, number) for number, entry in enumerate(source.entries)
        }
        self.module = Module()
        first = next(iter(self._kernels.values()))
        loaded.library.paged_describe_module(first.address, ctypes.byref(self.module))
        if hasattr(library, f"{DYNAMIC_SHARED}_address"):
            function = getattr(library, f"{DYNAMIC_SHARED}_address")
            self.module.dynamic_shared = ctypes.cast(function, c_void_p).value
        self._loaded_variables = [bytes(window) for window in self._windows()]

    @property
    def servers(self) -> ServerPool:
        """Where its launches run in isolation."""
        return self.runtime.servers

    def changed_variables(self) -> bytes:
        """Return all variables, then a byte each that tells which are not as loaded."""
        values = [np.frombuffer(window, np.uint8) for window in self._windows()]
        pairs = zip(values, self._loaded_variables, strict=True)
        changed = [now != np.frombuffer(then, np.uint8) for now, then in pairs]
        return b"".join(part.tobytes() for part in (*values, *changed))

    def adopt_variables(self, data: bytes) -> None:
        """Take over what `changed_variables` of the same library in another process returned.

        Mutates the variables in this process.
        """
        both = np.frombuffer(data, np.uint8).reshape(2, -1)
        at = 0
        for window, first in zip(self._windows(), self._loaded_variables, strict=True):
            part = slice(at, at + len(first))
            now = np.frombuffer(window, np.uint8)
            now[:] = np.where(both[1, part] != 0, both[0, part], np.frombuffer(first, np.uint8))
            at += len(first)

    def _windows(self) -> list[memoryview]:
        ranges = self.module.writable[: self.module.num_writable]
        return [memoryview((ctypes.c_char * r.num_bytes).from_address(r.begin)) for r in ranges]

    def kernel(self, entry: str) -> Kernel:
        """Return an entry. Raises KernelSourceError where the source was built without it."""
        if entry not in self._kernels:
            raise KernelSourceError(
                f"no entry {entry!r} in {self._source.name}: it has {', '.join(self._kernels)}"
            )
        return self._kernels[entry]

    def variable(self, name: str, num_bytes: int) -> int:
        """Return the address of a variable. Raises OperandError as `Program` says."""
        address, has_bytes = self._variables.get(mangled(name), (0, None))
        if has_bytes is None:
            known = ", ".join(sorted(self._variables)) or "none"
            raise OperandError(
                f"{self._source.name} has no __device__ or __constant__ variable {name!r}; "
                f"variables: {known}"
            )
        if has_bytes != num_bytes:
            raise OperandError(
                f"variable {name!r} of {self._source.name} has {has_bytes} bytes, got {num_bytes}"
            )
        return self.module.base + address

    def place(self, report: Report) -> tuple[str, int] | None:
        """Return file and line of a failure: as reported, else of the innermost known frame."""
        if report.line > 0:
            return report.file.decode(errors="replace"), report.line
        offsets = report.frames[: report.num_frames]
        headers = {*self._source.headers, *map(str, self._source.files)}
        return source_line(self.path, offsets, {self._source.label, *headers})

    @cached_property
    def _variables(self) -> dict[str, tuple[int, int]]:
        return variable_places(self.path.read_bytes())


def _kernel(library: ctypes.CDLL, number: int) -> Kernel:
    address = ctypes.cast(getattr(library, f"paged_entry_{number}"), c_void_p).value
    sizes = (c_size_t * MAX_PARAMETERS)()
    count = getattr(library, f"paged_parameters_{number}")
    count.restype = c_size_t
    count.argtypes = [ctypes.POINTER(c_size_t), c_size_t]
    num_parameters = count(sizes, MAX_PARAMETERS)
    return Kernel(address or 0, tuple(sizes[:num_parameters]))


def build_library(
    source: KernelSource, compiler: HostCompiler, loaded: Runtime, optimize: str
) -> KernelLibrary:
    """Compile a source, or find it compiled, and load it.

    Raises KernelCompileError with the compiler's text; UnsupportedFeature for what cannot be
    interpreted; KernelSourceError without entries.
    """
    if not source.entries:
        raise KernelSourceError(f"{source.name}: expected at least one entry, got none")
    parts = (
        *(source.content_hash, optimize, compiler.fingerprint),
        *(header_fingerprint(), loaded.path.name),
    )
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    path = cache_dir("interpret") / f"{key}.so"
    if not path.is_file():
        write_atomically(path, _compile(source, compiler, loaded, optimize))
    return KernelLibrary(source, path, loaded)


def _compile(source: KernelSource, compiler: HostCompiler, loaded: Runtime, optimize: str) -> bytes:
    options = [
        *(f"-D{name}={value}" for name, value in source.defines),
        *("-DPAGED_INTERPRET=1", "-include", str(FORCED_HEADER)),
        *("-I", str(INCLUDE_DIR)),
        *(option for folder in source.search_dirs for option in ("-iquote", str(folder.resolve()))),
    ]
    text = translate(source)
    refuse(source, lambda: compiler.preprocess(text, options))
    # The runtime lies beside the library: found by name, wherever the folder is.
    link = ["-shared", str(loaded.path), "-Wl,-rpath,$ORIGIN"]
    image, messages = compiler.compile(text, [optimize, *options, *link], translate_headers(source))
    if image is None:
        raise KernelCompileError(
            f"{' '.join(compiler.command)} cannot compile {source.label}:\n{messages}"
        )
    return image
