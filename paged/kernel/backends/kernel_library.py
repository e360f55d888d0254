"""A CUDA source as a library of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_size_t, c_void_p
from dataclasses import dataclass
from functools import partial

from paged.cache_dir import cache_dir, cache_key
from paged.errors import BackendUnavailable, KernelCompileError, KernelSourceError
from paged.kernel.backends.checked_file import CheckedFile, keep
from paged.kernel.backends.host_compiler import OBSERVED_LIBRARIES, HostCompiler
from paged.kernel.backends.loaded_library import load_library
from paged.kernel.backends.refusal import ARCHS, interpreted_arch
from paged.kernel.backends.runtime_library import (
    FORCED_HEADER,
    INCLUDE_DIR,
    Runtime,
    header_fingerprint,
)
from paged.kernel.backends.structures import Module, Report
from paged.kernel.backends.symbolizer import SourceLine, source_lines
from paged.kernel.backends.translation import (
    DYNAMIC_SHARED,
    reads_volatile,
    translate,
    translate_headers,
)
from paged.kernel.elf import num_constructors, thread_local_places
from paged.kernel.entries import kernels_in
from paged.kernel.parameters import explained, parameter_check
from paged.kernel.shared_memory import static_bytes
from paged.kernel.source import KernelSource

MAX_PARAMETERS = 1024
GUARD = "_ZGV"
"""How the compiler's variables begin that tell if another was constructed."""
EXITS = ("exit", "_exit", "_Exit", "quick_exit", "abort")
"""Functions that a kernel gets the runtime's own of, which fail the launch."""
COMPILER_CONSTRUCTORS = frozenset({"frame_dummy", "_sub_I_00099_0"})
"""What g++ itself has run when a library is loaded; the second, where accesses are observed."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry: where its launcher lies, the sizes of its parameters and of its shared arrays."""

    address: int
    parameter_bytes: tuple[int, ...]
    static_shared_bytes: int


class KernelLibrary:
    """The compiled kernels of one source, loaded."""

    def __init__(self, source: KernelSource, file: CheckedFile, runtime: Runtime) -> None:
        image = file.path.read_bytes()
        _refuse_constructors(source, image)
        self.runtime = runtime
        self.loaded = load_library(file.path, runtime)
        self._file = file
        self.source = source
        self.shared_arrays = shared_arrays(image)
        self._kernels = {
            entry: _kernel(self.loaded.handle, number, self._static_bytes(entry))
            for number, entry in enumerate(source.entries)
        }

    def _static_bytes(self, entry: str) -> int:
        sizes = {
            name: size
            for name, (_, size) in self.shared_arrays.items()
            if not name.startswith(GUARD)
        }
        return static_bytes(entry, kernels_in(self.source), sizes) if sizes else 0

    @property
    def module(self) -> Module:
        """Where the library lies."""
        return self.loaded.module

    def kernel(self, entry: str) -> Kernel:
        """Return an entry. Raises KernelSourceError where the source was built without it."""
        if entry not in self._kernels:
            raise KernelSourceError(
                f"no entry {entry!r} in {self.source.name}: it has {', '.join(self._kernels)}"
            )
        return self._kernels[entry]

    def restore(self) -> bool:
        """Compile again what of its files and the runtime's was lost; return whether any was.

        Raises KernelCompileError where one does not come out as it was.
        """
        return any([self.runtime.restore(), self._file.restore()])

    def places(self, report: Report) -> tuple[SourceLine, ...]:
        """Return where a failure was: as reported, else as `source_lines` of its calls."""
        if report.line > 0:
            return ((report.file.decode(errors="replace"), report.line),)
        return self.source_lines(report.frames[: report.num_frames])

    def source_lines(self, frames: Sequence[int]) -> tuple[SourceLine, ...]:
        """Return the lines of the source and its headers that calls go through, innermost first."""
        files = {self.source.label, *self.source.headers, *map(str, self.source.files)}
        return source_lines(self.loaded.path, frames, files)


def shared_arrays(image: bytes) -> dict[str, tuple[int, int]]:
    """Return offset and size of each static shared variable of a library, by mangled name."""
    places = thread_local_places(image)
    dynamic = places.get(DYNAMIC_SHARED)
    return {name: place for name, place in places.items() if place != dynamic}


def _refuse_constructors(source: KernelSource, image: bytes) -> None:
    """Raise KernelSourceError where loading the library would run code of the source's.

    It would run in this process, where nothing would catch its faults.
    """
    if num_constructors(image, but=COMPILER_CONSTRUCTORS):
        raise KernelSourceError(
            f"{source.label}: a variable at namespace scope has an initial value that takes code to"
            " compute, or a function is a constructor; CUDA initialises variables by constants"
            " alone: set it in a kernel, or make it constexpr"
        )


def _kernel(library: ctypes.CDLL, number: int, static_shared_bytes: int) -> Kernel:
    address = ctypes.cast(getattr(library, f"paged_entry_{number}"), c_void_p).value
    sizes = (c_size_t * MAX_PARAMETERS)()
    count = getattr(library, f"paged_parameters_{number}")
    count.restype = c_size_t
    count.argtypes = [ctypes.POINTER(c_size_t), c_size_t]
    num_parameters = count(sizes, MAX_PARAMETERS)
    return Kernel(address or 0, tuple(sizes[:num_parameters]), static_shared_bytes)


def build_library(
    source: KernelSource,
    compiler: HostCompiler,
    loaded: Runtime,
    optimize: str,
    *,
    observed: bool = False,
    sanitized: bool = False,
    counted: bool = False,
) -> KernelLibrary:
    """Compile a source, or find it compiled, and load it.

    Observed, it tells of its accesses; sanitized, of indices past the ends of arrays too. Counted,
    or where it reads volatile memory, it counts its steps, so that none of its loops keeps others
    from running.

    Raises KernelCompileError with the compiler's text; UnsupportedFeature for what cannot be
    interpreted; KernelSourceError without entries; BackendUnavailable where the compiler is not
    g++ and the library is to be observed.
    """
    if not source.entries:
        raise KernelSourceError(f"{source.name}: expected at least one entry, got none")
    is_told = observed or sanitized
    if is_told and compiler.is_clang:
        raise BackendUnavailable(
            f"a kernel's accesses are told by g++ only, got {compiler.version}; set CXX=g++"
        )
    counted = counted or reads_volatile(source)
    options = (
        *(optimize, *(compiler.observed_flags if observed else ())),
        *(compiler.sanitized_flags if sanitized else ()),
        *(compiler.step_flags if counted else ()),
    )
    parts = (
        *(source.content_hash, translate(source), *options, compiler.fingerprint),
        *(header_fingerprint(), loaded.path.name, *map(_define, ARCHS)),
    )
    path = cache_dir("interpret") / f"{cache_key(*parts)}.so"
    libraries = OBSERVED_LIBRARIES if is_told else ()
    file = keep(path, partial(_compile, source, compiler, loaded, options, libraries))
    return KernelLibrary(source, file, loaded)


def _compile(
    source: KernelSource,
    compiler: HostCompiler,
    loaded: Runtime,
    effort: tuple[str, ...],
    libraries: tuple[str, ...],
) -> bytes:
    options = [
        *("-DPAGED_INTERPRET=1", "-include", str(FORCED_HEADER)),
        *("-I", str(INCLUDE_DIR)),
        *(option for folder in source.search_dirs for option in ("-iquote", str(folder.resolve()))),
    ]
    text = translate(source) + parameter_check(source)
    arch = interpreted_arch(source, lambda n: compiler.preprocess(text, [*options, _define(n)]))
    options.append(_define(arch))
    # The runtime lies beside the library: found by name, wherever the folder is. What is declared
    # and defined nowhere is the linker's to tell, not the loader's.
    link = ["-shared", str(loaded.path), "-Wl,-rpath,$ORIGIN", "-Wl,-z,defs"]
    link += [*(f"-Wl,--wrap={name}" for name in EXITS), *libraries]
    arguments = [*effort, *options, *link]
    image, messages = compiler.compile(text, arguments, translate_headers(source))
    if image is None:
        raise KernelCompileError(
            f"{' '.join(compiler.command)} cannot compile {source.label}:\n"
            f"{explained(source, messages)}"
        )
    return image


def _define(arch: int) -> str:
    return f"-D__CUDA_ARCH__={arch}"
