"""Thinning keeps every integral."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.sim.record import HoleSamples
from experiments.sim.series import bin_means, hole_histogram, thin


def test_bins_average_by_time(make_record):
    record = make_record(
        3, duration_s=[1, 2, 1], token=[40, 10, 80], running=[4, 1, 8], preempted=[0, 3, 2]
    )
    series = thin(record, max_points=2)
    # [0, 2): 1 s of 40 and 1 s of 10; [2, 4): 1 s of 10 and 1 s of 80
    assert series["t_s"].tolist() == [1.0, 3.0]
    assert series["token_pct"].tolist() == [25.0, 45.0]
    assert series["running"].tolist() == [2.5, 4.5]
    assert series["preemptions"].tolist() == [3.0, 5.0]
    assert "external_fragmentation_index" not in series


def test_a_short_run_is_not_stretched(make_record):
    series = thin(make_record(3, token=[1, 2, 3]))
    assert series["token_pct"].tolist() == pytest.approx([1.0, 2.0, 3.0])


def test_the_index_holds_from_sample_to_sample(make_record):
    holes = HoleSamples(
        step=np.array([0, 3]), index=np.array([0.25, 0.75]), counts=np.zeros((2, 1))
    )
    series = thin(make_record(4, holes=holes), max_points=2)
    assert series["external_fragmentation_index"].tolist() == [0.25, 0.5]


@given(
    st.lists(st.tuples(st.floats(0.01, 10), st.floats(0, 100)), min_size=1, max_size=50),
    st.integers(1, 20),
)
def test_bins_keep_the_integral(steps, num_bins):
    durations, values = (np.array(column) for column in zip(*steps, strict=True))
    ends = np.cumsum(durations)
    edges = np.linspace(0.0, ends[-1], num_bins + 1)
    means = bin_means(edges, ends - durations, values, ends[-1])
    assert np.sum(means * np.diff(edges)) == pytest.approx(np.sum(values * durations))
    assert means.min() >= values.min() - 1e-6
    assert means.max() <= values.max() + 1e-6


def test_holes_by_size_over_the_steady_window(make_record):
    requests = {
        "arrival_s": [0.0, 0.0],
        "admitted_s": [0.0, 10.0],
        "first_token_s": [1.0, 11.0],
        "finished_s": [1.0, 11.0],
        "output_tokens": [1.0, 1.0],
    }
    holes = HoleSamples(
        step=np.array([0, 2, 4]),
        index=np.zeros(3),
        counts=np.array([[9.0, 9.0], [1.0, 0.0], [3.0, 4.0]]),
    )
    record = make_record(11, requests=requests, holes=holes)
    # too few completions after warm-up: the whole run counts, 2 + 2 + 7 s
    bins = list(hole_histogram(record, is_saturated=True))
    assert [(low, high) for low, high, _ in bins] == [(4, 8), (8, 16)]
    assert bins[0][2] == pytest.approx((2 * 9 + 2 * 1 + 7 * 3) / 11)
    assert bins[1][2] == pytest.approx((2 * 9 + 7 * 4) / 11)


def test_no_holes_without_addresses(make_record):
    assert list(hole_histogram(make_record(2), is_saturated=True)) == []
