"""F1: bars, paper ticks, margin numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from experiments.report.figures.breakdown import PAPER_LABEL, draw_breakdown
from experiments.report.results import load_results


def _paper_ticks(axes: Axes) -> list[float]:
    lines = [line for line in axes.get_lines() if line.get_label() == PAPER_LABEL]
    return [x for line in lines for x in np.asarray(line.get_xdata()).tolist()]


def test_bars_are_the_mean_shares_and_fill_the_pool(write_results: Callable[..., Path]) -> None:
    (axes,) = draw_breakdown(load_results(write_results("reserved-oracle", "paged"))).axes
    bars = [one for one in axes.containers if isinstance(one, BarContainer)]
    by_arm = list(zip(*([bar.get_width() for bar in one] for one in bars), strict=True))
    assert by_arm[0] == pytest.approx((38.1, 25.0, 0.0, 20.4, 0.0, 16.5))
    assert by_arm[1] == pytest.approx((97.1, 1.6, 0.0, 0.0, 0.0, 1.3))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["reserved-oracle\n(unreachable in practice)", "paged"]


def test_paper_ticks_only_for_the_papers_setup(write_results: Callable[..., Path]) -> None:
    folder = write_results("reserved-max", "virtual", "paged")
    (axes,) = draw_breakdown(load_results(folder)).axes
    assert _paper_ticks(axes) == pytest.approx([20.4, 33.7, 91.0, 96.3])
    path = folder / "fragmentation.csv"
    path.write_text(path.read_text().replace("15728", "430000"))
    (axes,) = draw_breakdown(load_results(folder)).axes
    assert _paper_ticks(axes) == []


def test_batch_and_preemptions_stand_beside_each_bar(write_results: Callable[..., Path]) -> None:
    (axes,) = draw_breakdown(load_results(write_results("paged"))).axes
    texts = [text.get_text() for text in axes.texts]
    assert {"97.1", "34.3", "1.10"} <= set(texts)


def test_each_workload_has_its_panel(write_results: Callable[..., Path]) -> None:
    folder = write_results("paged")
    path = folder / "fragmentation.csv"
    header, *rows = path.read_text().splitlines()
    other = [row.replace("sharegpt-like", "azure") for row in rows]
    path.write_text("\n".join([header, *rows, *other]) + "\n")
    figure = draw_breakdown(load_results(folder))
    assert [axes.get_ylabel() for axes in figure.axes] == ["sharegpt-like", "azure"]
