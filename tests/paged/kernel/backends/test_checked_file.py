"""A file that was cut off, emptied or overwritten is told from a whole one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paged.errors import KernelCompileError
from paged.kernel.backends.checked_file import CHECKSUM_BYTES, keep, write_checked
from tests.helpers.checked_files import is_whole

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


DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda data: b"",
    lambda data: b"garbage",
    lambda data: data[:-1],
    lambda data: data[: len(data) // 2],
    lambda data: data + b"\0",
    lambda data: bytes([data[0] ^ 1]) + data[1:],
    lambda data: data[:-CHECKSUM_BYTES],
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_not_whole(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "entry"
    write_checked(path, CONTENT)
    path.write_bytes(damage(path.read_bytes()))
    assert not is_whole(path)


def test_a_file_is_made_once_and_again_where_it_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "entry"
    made: list[bytes] = []

    def make() -> bytes:
        made.append(CONTENT)
        return CONTENT

    kept = keep(path, make)
    assert keep(path, make).checksum == kept.checksum
    assert not kept.restore()
    assert len(made) == 1
    path.unlink()
    path.parent.rmdir()
    assert kept.restore()
    assert is_whole(path)
    assert not kept.restore()
    path.write_bytes(b"damaged")
    assert kept.restore()
    assert len(made) == 3
    assert not os.access(path, os.X_OK)


def test_a_program_can_be_run(tmp_path: Path) -> None:
    kept = keep(tmp_path / "program", lambda: CONTENT, is_program=True)
    assert os.access(kept.path, os.X_OK)
    kept.path.chmod(0o644)
    assert kept.restore()
    assert os.access(kept.path, os.X_OK)
    kept.path.chmod(0o644)
    assert keep(kept.path, lambda: CONTENT, is_program=True).checksum == kept.checksum
    assert os.access(kept.path, os.X_OK)


def test_a_file_that_comes_out_otherwise_is_not_put_in_the_place_of_the_lost_one(
    tmp_path: Path,
) -> None:
    contents = iter([CONTENT, b"other"])
    kept = keep(tmp_path / "entry", lambda: next(contents))
    kept.path.unlink()
    with pytest.raises(KernelCompileError, match=r"entry has gone .* has changed; start this proc"):
        kept.restore()
    assert not kept.path.exists()
