"""Costs are found again in the steps that they made."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.live.fit import fit_steps
from tests.helpers.live_steps import steps_of


def test_only_the_first_steps_are_fitted() -> None:
    random = np.random.default_rng(0)
    tokens, context = random.integers(1, 200, 20), random.integers(1, 9_000, 20)
    step_s = 0.02 + 3e-6 * context + 1e-3 * tokens
    step_s[10:] = 99.0
    steps = steps_of(
        step_s.tolist(), scheduled_tokens=tokens.tolist(), context_tokens=context.tolist()
    )
    fitted = fit_steps(steps, num_steps=10)
    assert fitted.base_s == pytest.approx(0.02)
    assert fitted.context_s_per_token == pytest.approx(3e-6)
    assert fitted.scheduled_s_per_token == pytest.approx(1e-3)
