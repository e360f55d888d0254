"""Text files of records: containers, damage, and line numbers in errors."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from experiments.workload.errors import WorkloadError
from experiments.workload.records import read_records, read_text

CSV = "a,b\r\n1,2\r\n\r\n3,4"
JSON = '\n{"a": 1}\n\n{"a": 2}\n'


def write(tmp_path: Path, name: str, data: bytes | str) -> Path:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize("is_gzip", [False, True])
@pytest.mark.parametrize("name", ["rows", "rows.csv"])
def test_csv_rows_carry_their_line(tmp_path: Path, name: str, is_gzip: bool) -> None:
    data = gzip.compress(CSV.encode()) if is_gzip else CSV.encode()
    records = list(read_records(write(tmp_path, name, data)))
    assert [(record.line, dict(record.fields)) for record in records] == [
        (2, {"a": "1", "b": "2"}),
        (4, {"a": "3", "b": "4"}),
    ]


def test_json_rows_carry_their_line(tmp_path: Path) -> None:
    records = list(read_records(write(tmp_path, "rows.csv", JSON)))
    assert [(record.line, dict(record.fields)) for record in records] == [
        (2, {"a": 1}),
        (4, {"a": 2}),
    ]


def test_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.csv", b"\xef\xbb\xbfa,b\n1,2\n")
    assert dict(next(read_records(path)).fields) == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "the file is empty"),
        ("\n \n", "the file is empty"),
        ('[{"a": 1}]', "a JSON array; expected JSON lines"),
        ("5,5\n6,6\n", ":1: expected a header with the names of the columns, got 5, 5"),
        ("a,a\n1,2\n", ":1: a column name occurs twice"),
        ("a,b\n1,2\n1\n", ":3: expected 2 fields, got 1"),
        ("a,b\n1,2,3\n", ":2: expected 2 fields, got 3"),
        ('a,b\n"1,2\n3,4\n', "malformed CSV"),
        ('{"a": 1}\n{"a": \n', ":2: malformed JSON"),
        ('{"a": 1}\n[1]\n', ":2: expected a JSON object, got list"),
        ('{"a": 1}\n' + "[" * 100_000, ":2: malformed JSON"),
        (b"a,b\n\xff,2\n", "not UTF-8 text"),
    ],
)
def test_damaged_text_is_refused(tmp_path: Path, data: bytes | str, message: str) -> None:
    path = write(tmp_path, "rows", data)
    with pytest.raises(WorkloadError, match=message) as caught:
        list(read_records(path))
    assert str(path) in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"missing\.csv: cannot be read: No such file"):
        read_text(tmp_path / "missing.csv")
    with pytest.raises(WorkloadError, match="cannot be read: Is a directory"):
        read_text(tmp_path)


def test_gz_that_is_not_gzip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"named \.gz but not gzip"):
        read_text(write(tmp_path, "rows.csv.gz", CSV))


@pytest.mark.parametrize("num_bytes", [2, 12, -9, -1])
def test_truncated_gzip_is_refused(tmp_path: Path, num_bytes: int) -> None:
    path = write(tmp_path, "rows.gz", gzip.compress(CSV.encode() * 100)[:num_bytes])
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_text(path)


def test_corrupt_gzip_is_refused(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(CSV.encode() * 100))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_text(write(tmp_path, "rows.gz", bytes(data)))
