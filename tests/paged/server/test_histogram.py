"""Histograms: buckets, quantiles, and one value at a time like many."""

from __future__ import annotations

import numpy as np

from paged.server.histogram import SECONDS, Histogram


def test_a_value_at_a_bound_belongs_below_it() -> None:
    histogram = Histogram((1.0, 2.0))
    histogram.add(0.5, 1.0, 1.5, 2.0, 3.0)
    state = histogram.state()
    assert state.counts == (2, 2, 1)
    assert (state.total, state.num_values) == (8.0, 5)
    assert state.recent == (0.5, 1.0, 1.5, 2.0, 3.0)


def test_one_value_at_a_time_is_counted_like_many() -> None:
    values = np.random.default_rng(3).exponential(0.1, 300)
    one, many = Histogram(SECONDS), Histogram(SECONDS)
    for value in [*values.tolist(), *SECONDS]:
        one.add(value)
    many.add(*values.tolist(), *SECONDS)
    assert one.state().counts == many.state().counts
    assert one.state().recent == many.state().recent


def test_quantiles_are_those_of_the_latest_values() -> None:
    histogram = Histogram(SECONDS)
    assert histogram.state().recent_quantiles(0.5, 0.9) == (None, None)
    histogram.add(*[9.0] * 600)
    histogram.add(*np.arange(512.0).tolist())
    assert histogram.state().recent_quantiles(0.0, 0.5, 1.0) == (0.0, 255.5, 511.0)
    assert histogram.state().num_values == 1112


def test_a_state_does_not_change_afterwards() -> None:
    histogram = Histogram((1.0,))
    histogram.add(0.5)
    state = histogram.state()
    histogram.add(0.5)
    assert (state.counts, state.total, len(state.recent)) == ((1, 0), 0.5, 1)
