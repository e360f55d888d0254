"""JSON files: an object, or one error."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_zoo.loading.json_file import read_object, read_object_if_present
from paged.errors import ModelFileError


def test_an_object_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"ä": [1, null]}', encoding="utf-8")
    assert read_object(path) == {"ä": [1, None]}
    assert read_object_if_present(path) == {"ä": [1, None]}
    assert read_object_if_present(tmp_path / "b.json") == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected JSON"),
        (b'{"a": ', "expected JSON"),
        (b"\xff\xfe{}", "expected JSON"),
        (b"[1]", "a JSON object, got list"),
        (b"null", "a JSON object, got NoneType"),
        (b"[" * 200_000, "expected JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "expected JSON"),
    ],
)
def test_anything_else_is_one_error(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as raised:
        read_object(path)
    assert str(raised.value).startswith(str(path))
    assert len(str(raised.value)) < 400


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is missing"):
        read_object(tmp_path / "a.json")
    with pytest.raises(ModelFileError, match="cannot read"):
        read_object(tmp_path)
