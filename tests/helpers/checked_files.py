"""Whether a file of the cache is taken as it is."""

from __future__ import annotations

from pathlib import Path

from paged.kernel.backends.checked_file import keep


class _NotWholeError(Exception):
    pass


def is_whole(path: Path) -> bool:
    """Return whether a file exists, with the content that was written, and so is not made anew."""
    try:
        keep(path, _refuse)
    except _NotWholeError:
        return False
    return True


def _refuse() -> bytes:
    raise _NotWholeError
