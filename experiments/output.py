"""The folder of results: all files of a run appear in it at once, or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from experiments.interrupts import HeldInterrupts
from paged.errors import ConfigError

# Short and the same for every out: a name made of out's could be too long.
_SCRATCH_PREFIX = ".paged-"


def require_writable(out: Path) -> None:
    """Raise ConfigError unless a results folder can be made here. Leaves nothing behind.

    Tried and not only looked up: some file systems refuse names or folders though their
    permissions do not say so.
    """
    nearest = _nearest(out)
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise ConfigError(f"cannot write results to {out}: {nearest} is not a writable folder")
    try:
        with (
            HeldInterrupts(),
            tempfile.TemporaryDirectory(dir=nearest, prefix=_SCRATCH_PREFIX) as scratch,
        ):
            (scratch / out.absolute().relative_to(nearest)).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot write results to {out}: {reason}; choose another") from error


def _nearest(out: Path) -> Path:
    """Find out, or the closest above it, that exists, be it a link to nowhere."""
    return next(path for path in (out, *out.absolute().parents) if os.path.lexists(path)).absolute()


@contextmanager
def published(out: Path, owned: Iterable[str] = ()) -> Iterator[Path]:
    """Yield a scratch folder near `out` whose files move there if all goes well.

    owned: names that an earlier run may have left in out and this one may not write;
        those it does not write are removed, so that out never mixes two runs.
    Mutates: out, only when the block ends without an exception; other files stay.
    Raises: ConfigError, with out as it was, if one of the names is a folder there.
    """
    with HeldInterrupts() as held:
        # In the folder that require_writable saw: the same file system, and no new parents.
        scratch = Path(tempfile.mkdtemp(dir=_nearest(out), prefix=_SCRATCH_PREFIX))
        try:
            written, replaced = scratch / "written", scratch / "replaced"
            written.mkdir()
            replaced.mkdir()
            with held.let_through():
                yield written
            _publish(written, out, owned, replaced)
        finally:
            shutil.rmtree(scratch)


def _publish(written: Path, out: Path, owned: Iterable[str], replaced: Path) -> None:
    """Move all files to out, or leave it as it was; what was there goes to replaced."""
    new = sorted(path.name for path in written.iterdir())
    names = [*new, *sorted(set(owned).difference(new))]
    for path in (out / name for name in names):
        if path.is_dir() and not path.is_symlink():
            raise ConfigError(f"cannot write {path}: a folder has that name; move it away")
    with ExitStack() as undo:
        for folder in reversed((out, *out.parents)):
            if not folder.exists():
                folder.mkdir()
                undo.callback(folder.rmdir)
        for name in names:
            if os.path.lexists(out / name):
                _move(out / name, replaced / name, undo)
            if name in new:
                _move(written / name, out / name, undo)
        undo.pop_all()


def _move(source: Path, target: Path, undo: ExitStack) -> None:
    source.replace(target)
    undo.callback(target.replace, source)
