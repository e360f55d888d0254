"""The steady batch stays full, ends on time, and keeps the prefix cache evicting."""

from __future__ import annotations

import pytest

from bench.load import SteadyLoad
from bench.steady import SteadyState
from paged.errors import IntegrityError


@pytest.mark.parametrize("num_running", [1, 8])
def test_a_short_load_runs_through_many_replacements(num_running: int) -> None:
    load = SteadyLoad(num_running=num_running, output_tokens=20, max_prompt_tokens=64)
    state = SteadyState(load)
    state.run(200)
    assert state.num_finished == sum(load.num_ending(step) for step in range(200))
    assert state.num_finished >= 9 * num_running


def test_the_pool_comes_under_eviction() -> None:
    state = SteadyState(SteadyLoad(num_running=8))
    with pytest.raises(IntegrityError, match="not under eviction"):
        state.check_evicting()
    state.run(310)
    state.check_evicting()


def test_a_missing_arrival_is_noticed() -> None:
    state = SteadyState(SteadyLoad(num_running=4, output_tokens=8))
    state.run(3)
    state.scheduler.abort("3")
    with pytest.raises(IntegrityError, match=r"early or late|3 running"):
        state.run(8)
