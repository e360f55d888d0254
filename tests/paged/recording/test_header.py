"""The header as bytes and back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from paged.errors import RecordingError
from paged.recording.header import Header, RecordedModel

MODEL = RecordedModel(name="m", num_heads=8, num_kv_heads=2, head_dim=64, windows=(None, 9))
HEADER = Header(
    allocator="paged", block_size=16, num_blocks=9, num_groups=2, max_rows=3, max_row_tokens=32
)


@pytest.mark.parametrize("model", [None, MODEL])
def test_it_comes_back(model: RecordedModel | None) -> None:
    header = Header(
        **{name: getattr(HEADER, name) for name in HEADER.__slots__ if name != "model"}, model=model
    )
    assert Header.decode(header.encode()) == header


@pytest.mark.parametrize(
    "data", [b"", b"[" * 100_000, b"[]", b"{}", b'{"model": null}', b'{"model": {}}', b"\xff"]
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(RecordingError, match="expected the header of a recording"):
        Header.decode(data)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("header", "max_rows", -1),
        ("header", "max_rows", 10**9),
        ("header", "num_blocks", "many"),
        ("header", "num_groups", 10**30),
        ("header", "block_size", 0),
        ("header", "max_row_tokens", None),
        ("header", "allocator", ["paged"]),
        ("model", "num_kv_heads", 0),
        ("model", "head_dim", 1.5),
        ("model", "windows", [-1]),
        ("model", "windows", [2**70]),
        ("model", "name", 7),
    ],
)
def test_sizes_that_no_engine_has_are_refused(part: str, name: str, value: object) -> None:
    fields = json.loads(replace(HEADER, max_row_tokens=10_000, model=MODEL).encode())
    (fields if part == "header" else fields["model"])[name] = value
    with pytest.raises(RecordingError, match=f"expected the header of a recording: {name}: "):
        Header.decode(json.dumps(fields).encode())
