"""Files of the cache that tell whether they are whole: their content, then its checksum.

The loader, the linker and readers of debug information pass over what follows a library's end.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from paged.cache_dir import write_atomically

CHECKSUM_BYTES = hashlib.sha256().digest_size


def write_checked(path: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or none, and its checksum with it."""
    write_atomically(path, content + hashlib.sha256(content).digest())


def is_whole(path: Path) -> bool:
    """Return whether a file exists, with the content that `write_checked` gave it."""
    if not path.is_file():
        return False
    data = path.read_bytes()
    content, checksum = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
    return hashlib.sha256(content).digest() == checksum
