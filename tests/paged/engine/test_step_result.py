"""Where a draw's log-probabilities lie."""

from __future__ import annotations

import numpy as np

from paged.engine.step_result import places_of


def test_places_of_the_draws_that_asked() -> None:
    assert places_of(np.array([1, 3]), 4).tolist() == [-1, 0, -1, 1]
    assert places_of(np.zeros(0, np.int64), 2).tolist() == [-1, -1]
