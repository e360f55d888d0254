"""A file that was cut off, emptied or overwritten is told from a whole one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paged.kernel.backends.checked_file import CHECKSUM_BYTES, is_whole, write_checked

CONTENT = b"content of some length, longer than its checksum"


def test_a_written_file_is_whole_and_begins_with_its_content(tmp_path: Path) -> None:
    path = tmp_path / "entry"
    write_checked(path, CONTENT)
    assert is_whole(path)
    assert path.read_bytes()[:-CHECKSUM_BYTES] == CONTENT
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_without_content_may_be_whole(tmp_path: Path) -> None:
    write_checked(tmp_path / "entry", b"")
    assert is_whole(tmp_path / "entry")


def test_an_absent_file_is_not_whole(tmp_path: Path) -> None:
    assert not is_whole(tmp_path / "entry")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"garbage",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"\0",
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data[:-CHECKSUM_BYTES],
    ],
)
def test_a_damaged_file_is_not_whole(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "entry"
    write_checked(path, CONTENT)
    path.write_bytes(damage(path.read_bytes()))
    assert not is_whole(path)
