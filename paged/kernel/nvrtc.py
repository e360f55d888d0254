"""Compile CUDA sources to machine code with NVRTC; no device is needed."""

from __future__ import annotations

import ctypes
import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paged.errors import KernelCompileError
from paged.kernel.parameters import explained, parameter_check
from paged.kernel.source import KernelSource
from paged.kernel.toolkit import Toolkit, find_toolkit, show

ARCHS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100")
"""Architectures that every shipped kernel compiles for."""

SHIM_DIR = Path(__file__).resolve().parents[2] / "kernels_cu" / "include" / "nvrtc"
"""Standard C and C++ headers, which NVRTC lacks."""

_SUCCESS = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cubin:
    """Machine code of one source for one architecture.

    Attributes:
        image: the ELF file.
        symbols: for each entry of the source, in order, the entry and its symbol in the image.
        log: the compiler's warnings and the assembler's account of registers and spills.

    """

    arch: str
    image: bytes
    symbols: tuple[tuple[str, str], ...]
    log: str

    def symbol(self, entry: str) -> str:
        """Return the symbol of an entry."""
        return dict(self.symbols)[entry]


def options(source: KernelSource, arch: str, toolkit: Toolkit) -> list[str]:
    """Return the command line that NVRTC is given."""
    folders = (SHIM_DIR, *toolkit.include_dirs)
    return [
        f"-arch={arch}",
        "-std=c++17",
        "-default-device",
        "-lineinfo",
        "--ptxas-options=-v",
        *(f"-I{folder}" for folder in folders),
        *(f"-D{name}={value}" for name, value in source.defines),
    ]


def compile_cubin(source: KernelSource, arch: str) -> Cubin:
    """Compile a source for an architecture such as `sm_90a`, past any cache.

    Raises KernelCompileError with the compiler's log, in which lines of the text carry
    `source.label`, and BackendUnavailable where the machine has no NVRTC.
    """
    toolkit = find_toolkit()
    program = _Program(load(toolkit.library), source)
    try:
        compiled = program.compile(options(source, arch, toolkit))
        if not compiled:
            raise KernelCompileError(
                f"NVRTC {show(toolkit.version)} refused {source.label} for {arch} "
                f"(entries: {', '.join(source.entries)}):\n{explained(source, program.log())}"
            )
        symbols = tuple((entry, program.symbol(entry)) for entry in source.entries)
        return Cubin(arch=arch, image=program.image(), symbols=symbols, log=program.log())
    finally:
        program.destroy()


@functools.cache
def supported_archs() -> tuple[str, ...]:
    """Return the architectures that this machine's NVRTC knows, oldest first."""
    library = load(find_toolkit().library)
    count = ctypes.c_int()
    _check(library, library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    numbers = (ctypes.c_int * count.value)()
    _check(library, library.nvrtcGetSupportedArchs(numbers))
    return tuple(f"sm_{number}" for number in numbers)


@functools.cache
def load(path: Path) -> ctypes.CDLL:
    """Load an NVRTC library into this process, once."""
    # NVRTC opens its builtins by bare name; those of CUDA 13 lie outside of its search path
    for builtins in sorted(path.parent.glob("libnvrtc-builtins.so*")):
        ctypes.CDLL(str(builtins))
    library = ctypes.CDLL(str(path))
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


class _Program:
    """One NVRTC program; destroy it after use."""

    def __init__(self, library: ctypes.CDLL, source: KernelSource) -> None:
        self._library = library
        self._source = source
        self._handle = ctypes.c_void_p()
        headers = source.headers
        self._call(
            "CreateProgram",
            ctypes.byref(self._handle),
            translation_unit(source).encode(),
            source.label.encode(),
            len(headers),
            _strings(list(headers.values())),
            _strings(list(headers)),
        )
        for entry in source.entries:
            self._call("AddNameExpression", self._handle, entry.encode())

    def compile(self, command_line: Sequence[str]) -> bool:
        """Compile, and say whether the source was accepted."""
        status = self._library.nvrtcCompileProgram(
            self._handle, len(command_line), _strings(command_line)
        )
        return status == _SUCCESS

    def log(self) -> str:
        """Return the compiler's messages, without times, so that equal sources say the same."""
        text = self._bytes("ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        return "\n".join(line for line in text.splitlines() if "Compile time =" not in line)

    def image(self) -> bytes:
        """Return the compiled ELF file."""
        return self._bytes("CUBIN")

    def symbol(self, entry: str) -> str:
        """Return the mangled name of an entry."""
        name = ctypes.c_char_p()
        self._call("GetLoweredName", self._handle, entry.encode(), ctypes.byref(name))
        return (name.value or b"").decode()

    def destroy(self) -> None:
        """Free the program."""
        self._call("DestroyProgram", ctypes.byref(self._handle))

    def _bytes(self, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"Get{what}Size", self._handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(f"Get{what}", self._handle, buffer)
        return buffer.raw

    def _call(self, function: str, *arguments: object) -> None:
        _check(self._library, self._library[f"nvrtc{function}"](*arguments), self._source.label)


def translation_unit(source: KernelSource) -> str:
    """Return the text that is compiled: prelude, text and check, under their own line numbers."""
    return (
        f'#line 1 "<prelude of {source.name}>"\n{source.prelude}\n'
        f"#line 1 {json.dumps(source.label)}\n{source.text}\n{parameter_check(source)}"
    )


def _check(library: ctypes.CDLL, status: int, what: str = "a query") -> None:
    if status != _SUCCESS:
        reason = library.nvrtcGetErrorString(status).decode()
        raise KernelCompileError(f"NVRTC failed on {what}: {reason}")


def _strings(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))
