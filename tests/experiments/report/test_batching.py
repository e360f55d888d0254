"""Table and page of the batching experiment, from files written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.report.batching import batching_table, write_batching_report
from experiments.report.frame import ResultsError
from tests.helpers.batching_results import write_batching_results


def test_the_table_lists_arms_beside_their_predictions(tmp_path: Path) -> None:
    write_batching_results(tmp_path)
    text = batching_table(tmp_path).render()
    static, paged = (line for line in text.splitlines() if line.startswith(("static ", "paged ")))
    assert static.split() == [
        "static",
        "static",
        *["50.0", "4.0", "60.0", "0.0", "30.0", "10.0"],
        *["48.0", "54.0", "+12.5", "+1.0"],
    ]
    # the mean of two seeds
    assert paged.split()[:4] == ["paged", "continuous", "110.0", "9.0"]
    assert "the goal of 10 % is missed" in text
    assert "2 seeds" in text
    assert "fitted to static" in text


def test_the_page_fetches_nothing_and_embeds_the_figure(tmp_path: Path) -> None:
    write_batching_results(tmp_path)
    write_batching_report(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "http" not in page
    assert "data:image/png;base64," in page
    assert "idle rows" in page
    assert "python -m experiments.batching" in page
    assert "&lt;tiny&gt;" in page
    assert (tmp_path / "batching.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("missing", ["batching.csv", "steps.csv", "run.json"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    write_batching_results(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(ResultsError, match=missing):
        write_batching_report(tmp_path)


def test_a_run_that_is_no_json_is_named(tmp_path: Path) -> None:
    write_batching_results(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({})[:-1])
    with pytest.raises(ResultsError, match=r"run\.json"):
        batching_table(tmp_path)
