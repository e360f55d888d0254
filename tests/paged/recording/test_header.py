"""The header as bytes and back."""

from __future__ import annotations

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


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"model": null}', b'{"model": {}}', b"\xff"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(RecordingError, match="expected the header of a recording"):
        Header.decode(data)
