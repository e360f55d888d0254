"""Closed forms against hand-worked numbers and the paper's constants."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.sim.closed_forms import max_batch, paged_batch, reserved_fill, resident_tokens
from experiments.workload import sharegpt_like


def test_two_requests_by_hand():
    prompts, outputs = np.array([10, 30]), np.array([2, 4])
    # weights 2 and 4: stored on average 10 + 1 and 30 + 2 tokens, reserved 12 and 34
    assert resident_tokens(prompts, outputs) == pytest.approx((2 * 11 + 4 * 32) / 6)
    assert reserved_fill(prompts, outputs) == pytest.approx((2 * 11 + 4 * 32) / (2 * 12 + 4 * 34))
    # 25 resident tokens and half a block of 10
    assert paged_batch(300, 10, prompts, outputs) == pytest.approx(10.0)


def test_max_batch_of_the_paper():
    assert max_batch(15_728, 2_048) == 7


def test_reserved_fill_of_the_papers_workload():
    # 38.2 / (38.2 + 25.2) = 0.60 in Figure 2
    workload = sharegpt_like(seed=0, num_requests=50_000)
    fill = reserved_fill(workload.prompt_tokens, workload.output_tokens)
    assert fill == pytest.approx(38.2 / (38.2 + 25.2), abs=0.01)
