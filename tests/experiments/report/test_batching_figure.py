"""The figure of the batching experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.report.batching_figure import draw_batching
from experiments.report.frame import ResultsError
from tests.helpers.batching_results import write_batching_results


def test_equal_results_give_equal_bytes_and_others_do_not(tmp_path: Path) -> None:
    write_batching_results(tmp_path)
    png = draw_batching(tmp_path, regime="a regime")
    assert png.startswith(b"\x89PNG")
    assert draw_batching(tmp_path, regime="a regime") == png
    steps = tmp_path / "steps.csv"
    steps.write_text(steps.read_text().replace("0.5", "0.7", 1))
    assert draw_batching(tmp_path, regime="a regime") != png


def test_without_steps_there_is_nothing_to_draw(tmp_path: Path) -> None:
    write_batching_results(tmp_path)
    (tmp_path / "steps.csv").write_text("allocator,seed,step,seqs,step_s\n")
    with pytest.raises(ResultsError, match=r"steps\.csv is missing or empty"):
        draw_batching(tmp_path, regime="a regime")
