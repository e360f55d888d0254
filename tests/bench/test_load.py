"""Loads are exact about who ends when, and the same wherever they are built."""

from __future__ import annotations

import numpy as np
import pytest

from bench.load import BLOCK_SIZE, MAX_MODEL_LEN, SaturatedLoad, SteadyLoad


@pytest.mark.parametrize("num_running", [1, 7, 64, 300, 301, 1024])
def test_ends_agree_with_the_lengths_of_the_first_requests(num_running: int) -> None:
    load = SteadyLoad(num_running=num_running)
    # A request of n output tokens draws its last one in step n - 1.
    ends = np.bincount([n - 1 for n in load.first_output_tokens()], minlength=300)
    assert [load.num_ending(step) for step in range(300)] == ends.tolist()
    assert load.num_ending(300) == load.num_ending(0)


@pytest.mark.parametrize("num_running", [64, 1024])
def test_ends_are_spread_evenly(num_running: int) -> None:
    counts = [SteadyLoad(num_running=num_running).num_ending(step) for step in range(300)]
    assert sum(counts) == num_running
    assert max(counts) - min(counts) <= 1


def test_prompts_repeat_and_stay_within_bounds() -> None:
    load = SteadyLoad(num_running=1, min_prompt_tokens=3, max_prompt_tokens=5)
    generators = load.generator(), load.generator()
    prompts = [[load.draw_prompt(each).tolist() for _ in range(50)] for each in generators]
    assert prompts[0] == prompts[1]
    assert {len(prompt) for prompt in prompts[0]} == {3, 4, 5}


def test_the_steady_pool_holds_the_largest_single_request() -> None:
    load = SteadyLoad(num_running=1)
    assert load.num_blocks * BLOCK_SIZE > load.max_prompt_tokens + load.output_tokens


def test_saturated_lengths_fit_the_model_and_have_the_means_of_the_paper() -> None:
    prompts, outputs = SaturatedLoad(num_requests=20_000).lengths()
    assert min(prompts) >= 1
    assert max(prompts) + max(outputs) <= MAX_MODEL_LEN
    # Clipping at 1024 tokens takes a little off the mean of a log-normal.
    assert np.mean(prompts) == pytest.approx(161, rel=0.1)
    assert np.mean(outputs) == pytest.approx(338, rel=0.1)
