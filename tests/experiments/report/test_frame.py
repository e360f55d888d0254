"""Frames: columns of a CSV file, and damage refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.report.frame import ResultsError, read_frame

TEXT = "allocator,seed,token_pct\npaged,0,97.5\nvirtual,0,\npaged,1,96.5\n"


def _write(folder: Path, text: str) -> Path:
    path = folder / "a.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_by_name(tmp_path: Path) -> None:
    frame = read_frame(_write(tmp_path, TEXT), ("allocator", "token_pct"))
    assert frame is not None
    assert len(frame) == 3
    assert frame.names("allocator") == ["paged", "virtual"]
    assert frame.where(allocator="paged")["token_pct"].tolist() == [97.5, 96.5]
    assert np.isnan(frame.where(allocator="virtual")["token_pct"]).all()
    assert "seed" in frame
    assert "watermark" not in frame
    assert [(value, len(own)) for value, own in frame.by_value("seed")] == [(0.0, 2), (1.0, 1)]


@pytest.mark.parametrize("text", ["", "allocator,seed\n"])
def test_nothing_to_read_is_none(tmp_path: Path, text: str) -> None:
    assert read_frame(_write(tmp_path, text), ("allocator",)) is None
    assert read_frame(tmp_path / "absent.csv", ("allocator",)) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("allocator,seed\npaged,0\n", "a.csv: expected column token_pct, got allocator, seed"),
        (TEXT + "paged,2\n", "a.csv line 5: expected 3 cells, got 2"),
        (TEXT + "paged,2,high\n", "a.csv column token_pct: expected a number, got 'high'"),
    ],
)
def test_damage_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ResultsError) as error:
        read_frame(_write(tmp_path, text), ("allocator", "token_pct"))
    assert message in str(error.value)
