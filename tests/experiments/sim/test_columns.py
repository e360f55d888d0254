"""Growing columns."""

from __future__ import annotations

import numpy as np

from experiments.sim.columns import Columns


def test_rows_survive_growth():
    columns = Columns(("a", "b"))
    for i in range(3000):
        columns.append((i, -i))
    assert len(columns) == 3000
    assert columns.matrix().shape == (3000, 2)
    named = columns.named()
    assert list(named) == ["a", "b"]
    assert np.array_equal(named["a"], np.arange(3000))
    assert np.array_equal(named["b"], -np.arange(3000))


def test_copies_are_the_callers():
    columns = Columns(("a",))
    columns.append((1.0,))
    columns.matrix()[0, 0] = 5.0
    columns.named()["a"][0] = 5.0
    assert columns.named()["a"].tolist() == [1.0]
