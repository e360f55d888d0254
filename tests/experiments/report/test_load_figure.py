"""The picture of a load: drawn from its CSV files, alike for alike files."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.image import imread

from experiments.report.load_figure import draw_load

REQUESTS = """index,due_s,sent_s,ttft_s,normalized_s
0,0.5,0.6,0.1,0.02
1,,0.7,,
2,0.9,0.9,0.3,0.01
"""


def _draw(folder: Path, requests: str = REQUESTS, gaps: str = "index,gap_s\n0,0.01\n") -> bytes:
    folder.mkdir()
    (folder / "requests.csv").write_text(requests)
    (folder / "gaps.csv").write_text(gaps)
    return draw_load(folder, title="Load", regime="by hand").read_bytes()


def test_it_follows_from_the_files_alone(tmp_path: Path) -> None:
    first, again = (_draw(tmp_path / name) for name in "ab")
    assert first == again
    assert first != _draw(tmp_path / "c", REQUESTS.replace("0.1", "0.2"))
    assert imread(tmp_path / "a" / "load.png").shape[1] == 1400


@pytest.mark.parametrize("gaps", ["index,gap_s\n", "index,gap_s\n0,0.0\n"])
def test_a_run_with_nothing_to_draw_is_drawn(tmp_path: Path, gaps: str) -> None:
    nothing = REQUESTS.splitlines()[0] + "\n"
    assert _draw(tmp_path / "a", nothing, gaps).startswith(b"\x89PNG")
