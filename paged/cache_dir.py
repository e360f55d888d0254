"""Where compiled kernels and downloaded models are kept between runs."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from paged.errors import BackendUnavailable

PROGRAM_MODE = 0o755


def cache_dir(kind: str) -> Path:
    """Return the folder of one kind of file, made if absent.

    It lies in `$PAGED_CACHE_DIR`, by default `~/.cache/paged`. Deleting it is always safe.
    Raises BackendUnavailable where it cannot be made.
    """
    chosen = os.environ.get("PAGED_CACHE_DIR")
    # absolute, for compilers work in folders of their own
    root = Path(chosen).absolute() if chosen else Path.home() / ".cache" / "paged"
    folder = root / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BackendUnavailable(
            f"cannot make the cache folder {folder}: {error.strerror}; "
            "set PAGED_CACHE_DIR to a writable folder"
        ) from error
    return folder


def cache_key(*parts: str) -> str:
    """Return the part of a file's name that stands for what decides its content, in order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def write_atomically(path: Path, data: bytes, *, is_program: bool = False) -> None:
    """Write a file so that other processes see all of it or none; the last writer wins.

    The folder is made if absent. Raises BackendUnavailable where the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as scratch:
            try:
                scratch.write(data)
                scratch.close()
                if is_program:
                    os.chmod(scratch.name, PROGRAM_MODE)
                os.replace(scratch.name, path)
            except OSError:
                Path(scratch.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise BackendUnavailable(
            f"cannot write {path}: {error.strerror}; "
            "set PAGED_CACHE_DIR to a writable folder with room"
        ) from error
