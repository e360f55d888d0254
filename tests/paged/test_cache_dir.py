"""The cache folder is chosen by the environment, and files appear in it whole."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from paged.cache_dir import cache_dir, cache_key, write_atomically
from paged.errors import BackendUnavailable


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path / "deep" / "down"))
    assert cache_dir("cuda") == tmp_path / "deep" / "down" / "cuda"
    assert cache_dir("cuda").is_dir()


def test_by_default_it_lies_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAGED_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir("interpret") == tmp_path / ".cache" / "paged" / "interpret"


def test_a_folder_that_cannot_be_made_is_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(BackendUnavailable, match="set PAGED_CACHE_DIR to a writable folder"):
        cache_dir("cuda")


def test_writing_replaces_a_file_and_leaves_no_scratch(tmp_path: Path) -> None:
    path = tmp_path / "entry"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_no_scratch(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.mkdir()
    with pytest.raises(
        BackendUnavailable, match=r"cannot write .*taken: Is a directory; set PAGED"
    ):
        write_atomically(path, b"data")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    write_atomically(tmp_path / "gone" / "entry", b"data")
    assert (tmp_path / "gone" / "entry").read_bytes() == b"data"


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_keeps_a_file_from_being_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(BackendUnavailable, match=f"{os.strerror(reason)}; set PAGED_CACHE_DIR"):
        write_atomically(tmp_path / "entry", b"data")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAGED_CACHE_DIR", "near")
    assert cache_dir("cuda") == tmp_path / "near" / "cuda"


def test_a_key_tells_parts_and_their_order_apart() -> None:
    assert cache_key("ab", "c") == cache_key("ab", "c")
    assert len({cache_key(*parts) for parts in (("ab", "c"), ("a", "bc"), ("c", "ab"))}) == 3
