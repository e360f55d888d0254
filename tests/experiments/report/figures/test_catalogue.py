"""The figure table: all drawn with data, none without."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from matplotlib.image import imread

from experiments.report.figures.catalogue import FIGURES, draw_all
from experiments.report.results import load_results


def test_every_figure_states_its_regime(write_results: Callable[..., Path]) -> None:
    drawn = draw_all(load_results(write_results()))
    assert [one.kind for one in drawn] == list(FIGURES)
    for one in drawn:
        assert "sharegpt-like" in one.regime
        assert "saturated arrivals" in one.regime
        pixels = imread(io.BytesIO(one.png))
        assert pixels.min() < 0.2, one.kind.number  # ink
        assert pixels.max() == 1.0, one.kind.number  # paper


def test_figures_without_data_are_left_out(write_results: Callable[..., Path]) -> None:
    drawn = draw_all(load_results(write_results("virtual", is_minimal=True)))
    assert [one.kind.number for one in drawn] == ["F1"]


def test_numbers_and_files_are_unique() -> None:
    assert len({kind.number for kind in FIGURES}) == len(FIGURES)
    assert len({kind.filename for kind in FIGURES}) == len(FIGURES)
