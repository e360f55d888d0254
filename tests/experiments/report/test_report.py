"""The report: every file, byte for byte, and nothing stale."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.image import imread

from experiments.report import ResultsError, summary_table, write_report

ALL_FILES = [
    "f1_breakdown.png",
    "f2_utilisation_over_time.png",
    "f3_batch_and_preemptions.png",
    "f5_block_size.png",
    "f12_external_fragmentation.png",
    "f13_watermark.png",
    "report.html",
]


def test_everything_is_written_embedded_and_repeats_byte_for_byte(
    write_results: Callable[..., Path],
) -> None:
    folder = write_results("reserved-max", "paged")
    paths = write_report(folder)
    assert [path.name for path in paths] == ALL_FILES
    before = {path: path.read_bytes() for path in paths}
    page = before.pop(folder / "report.html").decode()
    for png in before.values():
        assert base64.b64encode(png).decode() in page
    for path in before:
        assert imread(path).shape[1] == 1400
    assert write_report(folder) == paths
    assert {path: path.read_bytes() for path in before} == before
    assert (folder / "report.html").read_text() == page
    assert not list(folder.glob("*.part"))


def test_only_what_has_data_is_drawn_and_stale_figures_go(
    write_results: Callable[..., Path],
) -> None:
    folder = write_results("paged", is_minimal=True)
    (folder / "f13_watermark.png").write_bytes(b"an older run's")
    (folder / "notes.png").write_bytes(b"the user's own")
    assert [path.name for path in write_report(folder)] == ["f1_breakdown.png", "report.html"]
    assert not (folder / "f13_watermark.png").exists()
    assert (folder / "notes.png").exists()


def test_nothing_is_written_when_an_input_is_damaged(write_results: Callable[..., Path]) -> None:
    folder = write_results()
    (folder / "watermark.csv").write_text("seed\n1\n")
    before = sorted(folder.iterdir())
    with pytest.raises(ResultsError, match=r"watermark\.csv: expected column"):
        write_report(folder)
    assert sorted(folder.iterdir()) == before


def test_summary_stands_beside_the_paper(write_results: Callable[..., Path]) -> None:
    text = summary_table(write_results())
    assert text.startswith("KV pool by slot class, sharegpt-like\n---")
    assert "Orca (Pow2)" in text
    assert "must not be compared with a saturated run" in " ".join(text.split())


def test_summary_covers_every_workload(write_results: Callable[..., Path]) -> None:
    folder = write_results("paged")
    path = folder / "fragmentation.csv"
    header, *rows = path.read_text().splitlines()
    other = [row.replace("sharegpt-like", "alpaca-like") for row in rows]
    path.write_text("\n".join([header, *rows, *other]) + "\n")
    text = summary_table(folder)
    assert "slot class, sharegpt-like" in text
    assert "slot class, alpaca-like" in text
    assert text.count("Beside the paper") == 1
