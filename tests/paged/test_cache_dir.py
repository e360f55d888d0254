"""The cache folder is chosen by the environment, and files appear in it whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.cache_dir import cache_dir, write_atomically
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
    with pytest.raises(OSError, match="taken"):
        write_atomically(path, b"data")
    assert list(tmp_path.iterdir()) == [path]


def test_the_folder_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAGED_CACHE_DIR", "near")
    assert cache_dir("cuda") == tmp_path / "near" / "cuda"
