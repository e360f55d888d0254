"""Files of the cache that tell whether they are whole: their content, then its checksum.

The loader, the linker and readers of debug information pass over what follows a library's end.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paged.cache_dir import write_atomically
from paged.errors import KernelCompileError

CHECKSUM_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file of the cache in use.

    Attributes:
        checksum: of its content.
        make: returns the content anew, the same where its sources are.
        is_program: whether it can be run.

    """

    path: Path
    checksum: bytes
    make: Callable[[], bytes]
    is_program: bool

    def restore(self) -> bool:
        """Make the file again where it was deleted or damaged; return whether it was.

        Raises KernelCompileError where it does not come out as it was, and what `make` raises.
        """
        if _usable(self.path, self.is_program) is not None:
            return False
        content = self.make()
        if hashlib.sha256(content).digest() != self.checksum:
            raise KernelCompileError(
                f"{self.path} has gone from the cache or is damaged, and what it is compiled from "
                f"has changed; start this process again"
            )
        write_checked(self.path, content, is_program=self.is_program)
        return True


def keep(path: Path, make: Callable[[], bytes], *, is_program: bool = False) -> CheckedFile:
    """Return a file of the cache, made where it is not whole. Raises what `make` raises."""
    checksum = _usable(path, is_program)
    if checksum is None:
        content = make()
        write_checked(path, content, is_program=is_program)
        checksum = hashlib.sha256(content).digest()
    return CheckedFile(path, checksum, make, is_program)


def write_checked(path: Path, content: bytes, *, is_program: bool = False) -> None:
    """Write a file so that other processes see all of it or none, and its checksum with it.

    Raises BackendUnavailable where it cannot be written.
    """
    data = content + hashlib.sha256(content).digest()
    write_atomically(path, data, is_program=is_program)


def _usable(path: Path, is_program: bool) -> bytes | None:
    """Return the checksum of a file that is whole, and can be run where that is wanted."""
    return None if is_program and not os.access(path, os.X_OK) else _checksum(path)


def _checksum(path: Path) -> bytes | None:
    """Return the checksum of a file's content, or None where the file is not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content, checksum = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
    return checksum if hashlib.sha256(content).digest() == checksum else None
