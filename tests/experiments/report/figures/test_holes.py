"""F12: contiguous allocators only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from experiments.report.figures.holes import draw_holes, running_mean
from experiments.report.results import load_results


def test_only_contiguous_allocators_are_drawn(write_results: Callable[..., Path]) -> None:
    figure = draw_holes(load_results(write_results("reserved-max", "reserved-pow2", "paged")))
    assert figure is not None
    index, runs = figure.axes
    labels = index.get_legend_handles_labels()[1]
    assert labels == ["reserved-max", "reserved-pow2"]
    assert len(index.get_lines()) == 4
    assert [bars.get_label() for bars in runs.containers] == ["reserved-max", "reserved-pow2"]


def test_bars_are_the_mean_counts(write_results: Callable[..., Path]) -> None:
    folder = write_results("reserved-max")
    header = "allocator,run_slots_low,run_slots_high,mean_count"
    rows = ("reserved-max,16,16,0", "reserved-max,32,48,2.5", "reserved-max,64,112,0.5")
    (folder / "holes.csv").write_text("\n".join((header, *rows)) + "\n")
    figure = draw_holes(load_results(folder))
    assert figure is not None
    runs = figure.axes[1]
    assert [bar.get_height() for bar in runs.containers[0]] == pytest.approx([2.5, 0.5])
    assert [label.get_text() for label in runs.get_xticklabels()] == ["32", "64"]


def test_paged_alone_has_no_holes(write_results: Callable[..., Path]) -> None:
    assert draw_holes(load_results(write_results("paged", "virtual"))) is None


def test_a_running_mean_weighs_values_by_how_long_they_held() -> None:
    times_s = np.array([0.0, 1.0, 4.0, 5.0])
    values = np.array([0.0, 1.0, 0.0, 9.0])
    mean = running_mean(times_s, values, window_s=4.0)
    # of [0, 2], [0, 3], [2, 5] and [3, 5]; the last value has held for no time
    assert mean == pytest.approx([1 / 2, 2 / 3, 2 / 3, 1 / 2])


def test_a_run_of_no_length_has_its_values() -> None:
    values = np.array([0.25, 0.5])
    assert running_mean(np.zeros(2), values, window_s=0.0) is values
