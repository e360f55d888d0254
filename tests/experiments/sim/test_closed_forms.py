"""Closed forms against hand-worked numbers and the paper's constants."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.sim.closed_forms import paged_batch, resident_tokens


def test_two_requests_by_hand():
    prompts, outputs = np.array([10, 30]), np.array([2, 4])
    # weights 2 and 4: stored on average 10 + 1 and 30 + 2 tokens
    assert resident_tokens(prompts, outputs) == pytest.approx((2 * 11 + 4 * 32) / 6)
    # 25 resident tokens and half a block of 10
    assert paged_batch(300, 10, prompts, outputs) == pytest.approx(10.0)
