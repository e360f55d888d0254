"""The interpreter's own runtime: compiled once per machine, called through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import logging
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from paged.cache_dir import cache_dir, cache_key
from paged.errors import KernelCompileError
from paged.kernel.backends.checked_file import CheckedFile, keep
from paged.kernel.backends.host_compiler import HostCompiler
from paged.kernel.backends.server import ServerPool
from paged.kernel.backends.structures import Module, Operand, Report, Request

_LOG = logging.getLogger(__name__)

INTERPRET_DIR = Path(__file__).resolve().parents[3] / "kernels_cu" / "interpret"
FORCED_HEADER = INTERPRET_DIR / "cuda_interpret.h"
INCLUDE_DIR = INTERPRET_DIR / "include"
PORTABLE_DIR = INTERPRET_DIR.parent / "include"
RUNTIME_SOURCES = (
    *(INTERPRET_DIR / "runtime", INTERPRET_DIR / "server", INCLUDE_DIR / "vector_types.h"),
    *(INTERPRET_DIR / name for name in ("lane.h", "collective.h", "device.h", "dynamic_shared.h")),
    INTERPRET_DIR / "observed_copies.h",
)
OPTIONS = (
    *("-O2", "-fexceptions", "-pthread"),
    # Checks of alignment are the kernels'; here they would cost each access of an observed one.
    "-fno-sanitize=alignment",
    # careful: g++ 12 forgets what a declaration says of this where the definition follows it, and
    # calls a function for each use of such a variable.
    "-ftls-model=initial-exec",
)


@dataclass(frozen=True, slots=True)
class Runtime:
    """The runtime, loaded.

    Attributes:
        path: its file, which every kernel is linked to.
        servers: processes that isolated launches run below.
        files: the runtime's and the servers' program.

    """

    path: Path
    servers: ServerPool
    library: ctypes.CDLL
    files: tuple[CheckedFile, ...]

    def restore(self) -> bool:
        """Compile again what of its files was lost; return whether any was.

        Raises KernelCompileError where one does not come out as it was.
        """
        return any([file.restore() for file in self.files])


def header_fingerprint() -> str:
    """Return a hash of every header that a kernel may include."""
    return _fingerprint([INTERPRET_DIR, PORTABLE_DIR])


def load_runtime(compiler: HostCompiler) -> Runtime:
    """Return the runtime, compiled where it is new. Raises KernelCompileError."""
    loaded = _load(compiler, cache_dir("interpret"))
    loaded.restore()
    return loaded


@lru_cache(maxsize=8)
def _load(compiler: HostCompiler, folder: Path) -> Runtime:
    key = cache_key(compiler.fingerprint, *OPTIONS, _fingerprint(RUNTIME_SOURCES))
    path = folder / f"libpaged_interpret_{key}.so"
    server = folder / f"paged_server_{key}"
    sources = sorted((INTERPRET_DIR / "runtime").glob("*.cpp"))
    shared = (*OPTIONS, "-shared", f"-Wl,-soname,{path.name}")
    linked = (*OPTIONS, str(path), "-Wl,-rpath,$ORIGIN")
    main = [INTERPRET_DIR / "server" / "main.cpp"]
    files = (
        keep(path, partial(_compile_told, compiler, sources, shared)),
        keep(server, partial(_compile, compiler, main, linked), is_program=True),
    )
    return Runtime(path, ServerPool(server), _declare(ctypes.CDLL(str(path))), files)


def _compile_told(compiler: HostCompiler, sources: list[Path], options: tuple[str, ...]) -> bytes:
    """Compile, and say so in a line of the log, for it takes a while."""
    _LOG.warning("compiling the interpreter of CUDA kernels, once: it may take a minute")
    return _compile(compiler, sources, options)


def _compile(compiler: HostCompiler, sources: list[Path], options: tuple[str, ...]) -> bytes:
    text = "".join(f'#include "{source}"\n' for source in sources)
    image, messages = compiler.compile(text, options, {})
    if image is None:
        raise KernelCompileError(
            f"{' '.join(compiler.command)} cannot compile the interpreter:\n{messages}"
        )
    return image


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    signatures = {
        "paged_describe_module": (c_int, [c_void_p, POINTER(Module)]),
        "paged_run": (c_void_p, [POINTER(Request), POINTER(Operand), c_uint32, c_uint64]),
        "paged_run_report": (POINTER(Report), [c_void_p]),
        "paged_take_text": (c_size_t, [c_void_p, c_char_p, c_size_t]),
        "paged_end_run": (None, [c_void_p]),
    }
    for name, (result, parameters) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = parameters
    return library


def _fingerprint(places: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for place in places:
        for path in (place, *sorted(place.rglob("*"))):
            if path.is_file():
                digest.update(f"{path.relative_to(place.parent)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
