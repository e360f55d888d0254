"""F5 and F13: the curves are the columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from experiments.report.figures.sweep import draw_block_size, draw_watermark
from experiments.report.results import load_results


def _curve(axes: Axes) -> tuple[list[float], list[float]]:
    curve = axes.containers[0]
    assert isinstance(curve, ErrorbarContainer)
    line = curve.lines[0]
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


def test_block_sizes_are_all_drawn_and_labelled(write_results: Callable[..., Path]) -> None:
    figure = draw_block_size(load_results(write_results()))
    assert figure is not None
    share, preemptions = figure.axes
    sizes, shares = _curve(share)
    assert sizes == [1, 8, 16, 32, 64, 128, 256]
    assert shares == pytest.approx([98.5, 97.8, 97.1, 95.4, 92.2, 86.4, 77.1])
    assert [text.get_text() for text in share.texts][-1] == "77.1"
    assert _curve(preemptions)[1] == pytest.approx([1.1] * 7)


def test_watermark_has_its_preemption_twin(write_results: Callable[..., Path]) -> None:
    figure = draw_watermark(load_results(write_results()))
    assert figure is not None
    share, preemptions = figure.axes
    assert _curve(share) == (
        pytest.approx([0, 1, 5, 10]),
        pytest.approx([97.2, 97.1, 95.0, 91.2]),
    )
    assert _curve(preemptions)[1] == pytest.approx([1.9, 1.1, 0.29, 0.08])
    assert share.get_ylabel() == "token states (% of pool)"
    assert preemptions.get_ylabel() == "preemptions / completion"


def test_no_sweep_no_figure(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results("paged", is_minimal=True))
    assert draw_block_size(results) is None
    assert draw_watermark(results) is None
