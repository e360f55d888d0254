"""Estimates: mean, spread, and what was not measured."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.report.estimate import estimate


def test_mean_and_sample_deviation() -> None:
    found = estimate(np.array([1.0, 2.0, 4.0]))
    assert found.mean == pytest.approx(7 / 3)
    assert found.std == pytest.approx(np.sqrt(7 / 3))
    assert found.text() == "2.3±1.5"
    assert found.text(2) == "2.33±1.53"


def test_one_seed_has_no_spread() -> None:
    found = estimate(np.array([97.14]))
    assert found.std is None
    assert found.text() == "97.1"


def test_what_was_not_measured_is_a_dash() -> None:
    assert estimate(np.array([np.nan])).text() == "-"
    assert estimate(np.array([])).mean_text() == "-"
    assert estimate(np.array([np.nan, 3.0])).text() == "3.0"
