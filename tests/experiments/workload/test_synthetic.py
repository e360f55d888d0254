"""Synthetic lengths: their means, their limits, their seeds."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.workload.errors import WorkloadError
from experiments.workload.synthetic import SYNTHETIC, alpaca_like, draw_workload, sharegpt_like

NUM_REQUESTS = 40_000


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_sharegpt_like_has_the_paper_lengths(seed: int) -> None:
    workload = sharegpt_like(seed, NUM_REQUESTS)
    prompts, outputs = workload.prompt_tokens, workload.output_tokens
    assert prompts.mean() == pytest.approx(155, rel=0.02)
    assert outputs.mean() == pytest.approx(335, rel=0.02)
    assert prompts.min() == outputs.min() == 4
    assert 1000 < prompts.max() <= 1024
    assert 1900 < (prompts + outputs).max() <= 2048
    # Ceiling of every allocator that reserves the final length: E[o(p+o/2)] / E[o(p+o)].
    fill = (outputs * (prompts + outputs / 2)).sum() / (outputs * (prompts + outputs)).sum()
    assert fill == pytest.approx(0.60, abs=0.005)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_alpaca_like_has_the_paper_lengths(seed: int) -> None:
    workload = alpaca_like(seed, NUM_REQUESTS)
    assert workload.prompt_tokens.mean() == pytest.approx(19.31, rel=0.02)
    assert workload.output_tokens.mean() == pytest.approx(58.45, rel=0.02)
    assert workload.prompt_tokens.min() == workload.output_tokens.min() == 1


def test_prompt_and_output_are_independent() -> None:
    workload = alpaca_like(0, NUM_REQUESTS)
    assert abs(np.corrcoef(workload.prompt_tokens, workload.output_tokens)[0, 1]) < 0.02


@pytest.mark.parametrize("name", SYNTHETIC)
def test_seeds_repeat_and_differ(name: str) -> None:
    make = SYNTHETIC[name]
    first, again, other = make(3, 500), make(3, 500), make(4, 500)
    assert first.name == name
    assert (first.prompt_tokens == again.prompt_tokens).all()
    assert (first.output_tokens == again.output_tokens).all()
    assert (first.prompt_tokens != other.prompt_tokens).any()


@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_longer_workload_starts_like_a_shorter_one(name: str) -> None:
    longer, shorter = SYNTHETIC[name](3, 9000), SYNTHETIC[name](3, 100)
    assert (longer.prompt_tokens[:100] == shorter.prompt_tokens).all()
    assert (longer.output_tokens[:100] == shorter.output_tokens).all()


@pytest.mark.parametrize("num_requests", [0, -3])
def test_no_requests_are_refused(num_requests: int) -> None:
    with pytest.raises(WorkloadError, match="at least 1"):
        sharegpt_like(0, num_requests)


def test_distribution_without_acceptable_draws_is_refused() -> None:
    with pytest.raises(WorkloadError, match="none of 4096 draws"):
        draw_workload(
            "none",
            "test",
            lambda random, num: (random.integers(1, 9, num), random.integers(1, 9, num)),
            lambda prompts, outputs: prompts + outputs > 99,
            seed=0,
            num_requests=1,
        )
