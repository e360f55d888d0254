"""Results folders: what is read, what may be missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.report.frame import ResultsError
from experiments.report.results import flatten, load_results


def test_estimates_average_over_seeds(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results())
    found = results.estimate("sharegpt-like", "paged", "token_pct")
    assert found.mean == pytest.approx(97.1)
    assert found.std == pytest.approx(0.3)


def test_settings_are_found_at_any_depth(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results())
    assert results.setting("arrivals") == "saturated"
    assert results.setting("seeds") == [0, 1, 2]
    assert results.setting("absent") is None


def test_flatten_walks_outer_leaves_first() -> None:
    assert list(flatten({"a": {"x": 1}, "b": 2})) == [(("b",), 2), (("a", "x"), 1)]


def test_optional_files_may_be_missing(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results("paged", is_minimal=True))
    assert (results.block_size, results.watermark, results.timeseries) == (None, None, None)
    assert (results.holes, results.run) == (None, {})


def test_the_paper_is_beside_its_own_setup_alone(write_results: Callable[..., Path]) -> None:
    folder = write_results()
    row = load_results(folder).paper_row("sharegpt-like", "reserved-max")
    assert row is not None
    assert row.system == "Orca (Max)"
    path = folder / "fragmentation.csv"
    path.write_text(path.read_text().replace("15728", "20000"))
    assert load_results(folder).paper_row("sharegpt-like", "reserved-max") is None


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"expected fragmentation\.csv with rows"):
        load_results(tmp_path)
    with pytest.raises(ResultsError, match="expected a results folder"):
        load_results(tmp_path / "absent")


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_damaged_run_file_is_refused(write_results: Callable[..., Path], text: str) -> None:
    folder = write_results()
    (folder / "run.json").write_text(text)
    with pytest.raises(ResultsError, match=r"run\.json"):
        load_results(folder)
