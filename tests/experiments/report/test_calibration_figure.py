"""The calibration figure is drawn from the CSV alone, the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.report.calibration_figure import draw_calibration
from experiments.report.frame import ResultsError

HEADER = (
    "t_s,is_fitted,running_measured,running_simulated,waiting_measured,waiting_simulated,"
    "kv_pct_measured,kv_pct_simulated\n"
)
PNG_MAGIC = b"\x89PNG"


def write(path: Path, *, last_running: int) -> Path:
    rows = "1,1,3,4,0,0,50,60\n2,1,5,5,1,0,70,70\n" + f"3,0,2,{last_running},0,0,20,10\n"
    path.write_text(HEADER + rows)
    return path


def test_equal_data_give_equal_bytes_and_other_data_others(tmp_path: Path) -> None:
    first = draw_calibration(write(tmp_path / "a.csv", last_running=2))
    assert first.startswith(PNG_MAGIC)
    assert draw_calibration(write(tmp_path / "b.csv", last_running=2)) == first
    assert draw_calibration(write(tmp_path / "c.csv", last_running=9)) != first


def test_a_missing_file_and_a_missing_column_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"gone\.csv is missing or empty"):
        draw_calibration(tmp_path / "gone.csv")
    path = tmp_path / "short.csv"
    path.write_text("t_s,is_fitted\n1,1\n")
    with pytest.raises(ResultsError, match="expected column running_measured"):
        draw_calibration(path)
