"""Text files of records, CSV or JSON lines, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from experiments.workload.errors import WorkloadError, require
from experiments.workload.values import is_number

_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row of a file: its line, counted from 1, and its values by field name."""

    line: int
    fields: Mapping[str, object]


def read_records(path: Path) -> Iterator[Record]:
    """Iterate over the rows of a file; a first line that opens a brace means JSON lines.

    Blank lines are no rows.
    Raises: WorkloadError, naming file and line, for what is no such file.
    """
    lines = list(io.StringIO(read_text(path), newline=None))
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise WorkloadError(f"{path}: the file is empty; expected a trace")
    require(
        not first.lstrip().startswith("["),
        f"{path}: a JSON array; expected JSON lines, one object per line, or CSV",
    )
    return _read_json(path, lines) if first.lstrip().startswith("{") else _read_csv(path, lines)


def read_text(path: Path) -> str:
    """Read a whole UTF-8 text file, unzipped where need be.

    Raises: WorkloadError if the file cannot be read or is damaged.
    """
    try:
        return _unzip(path, path.read_bytes()).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise WorkloadError(f"{path}: cannot be read: {reason}; give a readable file") from error
    except UnicodeDecodeError as error:
        raise WorkloadError(f"{path}: not UTF-8 text ({error}); expected CSV or JSON") from error


def _unzip(path: Path, data: bytes) -> bytes:
    """Unzip what is gzip data, whatever its name."""
    is_gzip = data.startswith(_GZIP_MAGIC)
    require(
        is_gzip or path.suffix != ".gz",
        f"{path}: named .gz but not gzip data; rename it or compress it",
    )
    return gzip.decompress(data) if is_gzip else data


def _read_json(path: Path, lines: list[str]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield Record(line=number, fields=_parse_object(path, number, line))


def _parse_object(path: Path, number: int, line: str) -> Mapping[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WorkloadError(
            f"{path}:{number}: malformed JSON ({error}); expected one object per line"
        ) from error
    require(
        isinstance(value, dict),
        f"{path}:{number}: expected a JSON object, got {type(value).__name__}",
    )
    return cast(Mapping[str, object], value)


def _read_csv(path: Path, lines: list[str]) -> Iterator[Record]:
    reader = csv.reader(lines, strict=True)
    header: list[str] | None = None
    try:
        for row in reader:
            if not row:
                continue
            if header is None:
                header = _parse_header(path, reader.line_num, row)
                continue
            require(
                len(row) == len(header),
                f"{path}:{reader.line_num}: expected {len(header)} fields, got {len(row)}",
            )
            yield Record(line=reader.line_num, fields=dict(zip(header, row, strict=True)))
    except csv.Error as error:
        raise WorkloadError(f"{path}:{reader.line_num}: malformed CSV ({error})") from error


def _parse_header(path: Path, line: int, row: list[str]) -> list[str]:
    header = [name.strip() for name in row]
    require(
        not any(is_number(name) for name in header),
        f"{path}:{line}: expected a header with the names of the columns,"
        f" got {', '.join(header):.80}",
    )
    require(
        len(set(header)) == len(header),
        f"{path}:{line}: a column name occurs twice in {', '.join(header)}; rename one",
    )
    return header
