"""Which part of a run is measured."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.sim.window import steady_window
from paged.errors import ConfigError


def four_requests() -> dict[str, list[float]]:
    """Service times 2, 4, 4, 6 s: mean 4 s; the first one ends at 2 s."""
    return {
        "arrival_s": [0.0, 0.0, 1.0, 9.0],
        "admitted_s": [0.0, 0.0, 2.0, 10.0],
        "first_token_s": [1.0, 1.0, 3.0, 11.0],
        "finished_s": [2.0, 4.0, 6.0, 16.0],
        "output_tokens": [2.0, 4.0, 4.0, 6.0],
    }


def test_cuts_warm_up_and_drain_of_a_saturated_run(make_record):
    window = steady_window(make_record(16, requests=four_requests()), is_saturated=True)
    # [first completion 2 s + mean service 4 s, last admission 10 s)
    assert (window.start_s, window.end_s, window.is_steady) == (6.0, 10.0, True)
    assert np.flatnonzero(window.has_step).tolist() == [6, 7, 8, 9]
    assert window.has_request.tolist() == [False, False, True, False]


def test_drain_starts_with_the_last_arrival_when_requests_arrive_over_time(make_record):
    window = steady_window(make_record(16, requests=four_requests()), is_saturated=False)
    assert (window.start_s, window.end_s) == (6.0, 9.0)
    assert np.flatnonzero(window.has_step).tolist() == [6, 7, 8]


def test_a_run_too_short_to_cut_is_measured_whole(make_record):
    requests = {name: column[:2] for name, column in four_requests().items()}
    window = steady_window(make_record(4, requests=requests), is_saturated=True)
    assert not window.is_steady
    assert window.has_step.all()
    assert window.has_request.all()


def test_a_window_without_work_is_no_window(make_record):
    idle = make_record(16, requests=four_requests(), running=[1.0] * 6 + [0.0] * 10)
    assert not steady_window(idle, is_saturated=True).is_steady


def test_a_run_without_completions_is_refused(make_record):
    with pytest.raises(ConfigError, match="at least one request to complete, got none"):
        steady_window(make_record(3), is_saturated=True)
