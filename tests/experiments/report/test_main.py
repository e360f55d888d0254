"""The redraw command: table on stdout, one line for a bad folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.report.__main__ import main


def test_redraws_a_folder_and_prints_the_table(
    write_results: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_results("paged", is_minimal=True)
    assert main([str(folder)]) == 0
    out = capsys.readouterr().out
    assert "97.1±0.3" in out
    assert out.splitlines()[-1] == str(folder / "report.html")


def test_a_folder_without_results_is_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("error: expected fragmentation.csv with rows in")
