"""Read the variables of a cubin from its symbol table, and what a library runs when loaded."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from paged.errors import KernelCompileError

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little endian
_SECTIONS_AT = struct.Struct("<40xQ10xHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2
_CONSTRUCTORS = 14
_ADDRESS_BYTES = 8
_OBJECT = 1
_FUNCTION = 2
_THREAD_LOCAL = 6
_UNDEFINED = 0


def variable_sizes_bytes(image: bytes) -> dict[str, int]:
    """Return the size of each `__device__` and `__constant__` variable, by mangled name.

    Raises KernelCompileError for an image that is no ELF file.
    """
    return {name: num_bytes for name, _, num_bytes in _symbols(image, _OBJECT)}


def num_constructors(image: bytes, *, but: frozenset[str] = frozenset()) -> int:
    """Count the functions that run when a library is loaded, less those of these names.

    Raises KernelCompileError for an image that is no ELF file.
    """
    sizes = [size for kind, _, size, _ in _sections(image) if kind == _CONSTRUCTORS]
    passed = [name for name, *_ in _symbols(image, _FUNCTION) if name in but]
    return sum(sizes) // _ADDRESS_BYTES - len(passed)


def variable_places(image: bytes) -> dict[str, tuple[int, int]]:
    """Return address and size in bytes of each variable of a library, by mangled name.

    Raises KernelCompileError for an image that is no ELF file.
    """
    return {name: (at, num_bytes) for name, at, num_bytes in _symbols(image, _OBJECT)}


def thread_local_places(image: bytes) -> dict[str, tuple[int, int]]:
    """Return offset and size in bytes of each thread-local variable, by mangled name.

    Raises KernelCompileError for an image that is no ELF file.
    """
    return {name: (at, num_bytes) for name, at, num_bytes in _symbols(image, _THREAD_LOCAL)}


def mangled(name: str) -> str:
    """Return how a variable at namespace scope is called in an image: `a::b` is `_ZN1a1bE`.

    Source: the Itanium C++ ABI, section 5.1.
    """
    parts = name.removeprefix("::").split("::")
    if len(parts) == 1:
        return parts[0]
    return "_ZN" + "".join(f"{len(part)}{part}" for part in parts) + "E"


def _symbols(image: bytes, kind_of_symbol: int) -> Iterator[tuple[str, int, int]]:
    sections = _sections(image)
    for kind, offset, size, link in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names_at = sections[link][1]
        for at in range(offset, offset + size, _SYMBOL.size):
            name_at, info, _, section, address, num_bytes = _SYMBOL.unpack_from(image, at)
            if info & 0xF == kind_of_symbol and section != _UNDEFINED:
                start = names_at + name_at
                yield image[start : image.index(b"\0", start)].decode(), address, num_bytes


def _sections(image: bytes) -> list[tuple[int, int, int, int]]:
    """Return kind, offset, size and linked section of each section.

    Raises KernelCompileError for an image that is no ELF file.
    """
    if not image.startswith(_MAGIC):
        raise KernelCompileError(f"expected an ELF image, got one that begins with {image[:6]!r}")
    table_at, entry_bytes, num_sections, _ = _SECTIONS_AT.unpack_from(image)
    found: list[tuple[int, int, int, int]] = []
    for i in range(num_sections):
        _, kind, _, _, offset, size, link, *_ = _SECTION.unpack_from(
            image, table_at + i * entry_bytes
        )
        found.append((kind, offset, size, link))
    return found
