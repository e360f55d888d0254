"""The interpreter's own runtime: compiled once per machine, called through ctypes.

The structures below are laid out as in `kernels_cu/interpret/runtime/{launch,isolation,report}.h`.
"""

from __future__ import annotations

import ctypes
import hashlib
from ctypes import POINTER, Structure, c_char, c_char_p, c_int, c_int32, c_int64, c_long
from ctypes import c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from paged.errors import KernelCompileError
from paged.kernel.backends.host_compiler import HostCompiler
from paged.kernel.cache_dir import cache_dir, write_atomically

INTERPRET_DIR = Path(__file__).resolve().parents[3] / "kernels_cu" / "interpret"
FORCED_HEADER = INTERPRET_DIR / "cuda_interpret.h"
INCLUDE_DIR = INTERPRET_DIR / "include"
PORTABLE_DIR = INTERPRET_DIR.parent / "include"


class Module(Structure):
    """A kernel's library in memory."""

    class Range(Structure):
        """Bytes of variables at namespace scope."""

        _fields_ = [("begin", c_void_p), ("num_bytes", c_size_t)]

    _fields_ = [
        ("tls_module", c_size_t),
        ("tls_bytes", c_size_t),
        ("dynamic_shared", c_void_p),
        ("writable", Range * 4),
        ("num_writable", c_uint32),
        ("base", c_uint64),
    ]


class Request(Structure):
    """What to run."""

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
    ]


class Region(Structure):
    """Memory of one or more overlapping operands."""

    _fields_ = [
        ("caller", c_void_p),
        ("num_bytes", c_uint64),
        ("is_written", c_uint32),
        ("is_copied", c_uint32),
        ("mapped", c_void_p),
        ("reserved", c_void_p),
    ]


class Operand(Structure):
    """A tensor, and where its address lies in the arguments."""

    _fields_ = [
        ("caller", c_void_p),
        ("slot", c_void_p),
        ("region", c_uint32),
        ("is_poisoned", c_uint32),
        ("element_bytes", c_uint32),
        ("num_axes", c_uint32),
        ("sizes", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
    ]


class Memory(Structure):
    """All memory of a launch."""

    _fields_ = [
        ("regions", POINTER(Region)),
        ("operands", POINTER(Operand)),
        ("num_regions", c_uint32),
        ("num_operands", c_uint32),
        ("guard_begin", c_uint32),
        ("poison", c_uint32),
    ]


class Report(Structure):
    """How a launch failed."""

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
        ("frames", c_uint64 * 24),
        ("file", c_char * 512),
        ("text", c_char * 4096),
    ]


@dataclass(frozen=True, slots=True)
class Runtime:
    """The loaded runtime, and its file, which every kernel is linked to."""

    path: Path
    library: ctypes.CDLL


def header_fingerprint() -> str:
    """Return a hash of every file of the interpreter and of the headers kernels may include."""
    return _fingerprint([INTERPRET_DIR, PORTABLE_DIR])


def load_runtime(compiler: HostCompiler) -> Runtime:
    """Return the runtime, compiled where it is new. Raises KernelCompileError."""
    return _load(compiler, cache_dir("interpret"))


@lru_cache(maxsize=8)
def _load(compiler: HostCompiler, folder: Path) -> Runtime:
    sources = sorted((INTERPRET_DIR / "runtime").glob("*.cpp"))
    name = f"libpaged_interpret_{_key(compiler.fingerprint, _fingerprint([INTERPRET_DIR]))}.so"
    path = folder / name
    if not path.is_file():
        text = "".join(f'#include "{source}"\n' for source in sources)
        image, messages = compiler.compile(
            text, ["-O2", "-fexceptions", "-pthread", f"-Wl,-soname,{name}"], {}
        )
        if image is None:
            raise KernelCompileError(
                f"{' '.join(compiler.command)} cannot compile the interpreter:\n{messages}"
            )
        write_atomically(path, image)
    return Runtime(path, _declare(ctypes.CDLL(str(path))))


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    job = c_void_p
    signatures = {
        "paged_begin_job": (job, [POINTER(Request), POINTER(Memory), c_int]),
        "paged_read_text": (c_long, [job, c_char_p, c_size_t, c_int]),
        "paged_stop_job": (None, [job]),
        "paged_finish_job": (c_int, [job]),
        "paged_job_report": (POINTER(Report), [job]),
        "paged_end_job": (None, [job]),
        "paged_describe_module": (c_int, [c_void_p, POINTER(Module)]),
    }
    for name, (result, parameters) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = parameters
    return library


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _fingerprint(folders: list[Path]) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
