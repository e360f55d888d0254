"""F2 and F3: panels, saturation, lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from experiments.report.figures.timeline import draw_batch, draw_utilisation
from experiments.report.results import load_results


def _visible(axes: list[Axes]) -> list[Axes]:
    return [one for one in axes if one.axison]


def _dark_bar_ends(axes: Axes) -> tuple[float, float]:
    bar = next(one for one in axes.collections if one.get_label() == "requests waiting")
    times = np.concatenate([np.asarray(path.vertices)[:, 0] for path in bar.get_paths()])
    return float(times.min()), float(times.max())


def test_one_panel_per_allocator_in_order(write_results: Callable[..., Path]) -> None:
    figure = draw_utilisation(load_results(write_results("paged", "reserved-max", "virtual")))
    assert figure is not None
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in _visible(figure.axes)]
    assert titles == ["reserved-max", "virtual", "paged"]


def test_saturation_and_measured_window_are_marked(write_results: Callable[..., Path]) -> None:
    figure = draw_utilisation(load_results(write_results("paged")))
    assert figure is not None
    (axes,) = figure.axes
    first_s, last_s = _dark_bar_ends(axes)
    assert first_s == 0.0
    assert 497.0 <= last_s <= 500.0  # the sample's queue is empty from step 250, at 500 s
    ends = [np.asarray(line.get_xdata())[0] for line in axes.get_lines()]
    assert ends == [60.0, 500.0]


def test_lines_are_the_columns(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results("reserved-max", "paged"))
    figure = draw_batch(results)
    assert figure is not None
    assert results.timeseries is not None
    running, preemptions = figure.axes
    paged = results.timeseries.where(allocator="paged")
    assert [line.get_label() for line in running.get_lines()] == ["reserved-max", "paged"]
    np.testing.assert_array_equal(running.get_lines()[1].get_ydata(), paged["running"])
    np.testing.assert_array_equal(preemptions.get_lines()[1].get_ydata(), paged["preemptions"])


def test_no_series_no_figure(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results("paged", is_minimal=True))
    assert draw_utilisation(results) is None
    assert draw_batch(results) is None
