"""A step-time model fitted to measured steps."""

from __future__ import annotations

import numpy as np

from experiments.live.steps import Steps
from experiments.sim.calibrate import solve_non_negative
from paged.engine.step_time import AffineStepTime


def fit_steps(steps: Steps, *, num_steps: int) -> AffineStepTime:
    """Fit costs by least squares to the first num_steps steps."""
    first = slice(0, num_steps)
    matrix = np.stack(
        [
            np.ones(num_steps),
            steps.work["context_tokens"][first],
            steps.work["scheduled_tokens"][first],
        ],
        axis=1,
    )
    base_s, context_s, scheduled_s = solve_non_negative(matrix, steps.step_s[first]).tolist()
    return AffineStepTime(
        base_s=base_s, context_s_per_token=context_s, scheduled_s_per_token=scheduled_s
    )
