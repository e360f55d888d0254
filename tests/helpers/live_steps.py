"""Steps written by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.live.steps import WORK_COLUMNS, Steps


def steps_of(
    step_s: Sequence[float],
    *,
    model_s: Sequence[float] | None = None,
    padding: Sequence[float] | None = None,
    **work: Sequence[float],
) -> Steps:
    """Make steps; of what is not named there is one of each."""
    ones = np.ones(len(step_s))
    return Steps(
        work={name: np.array(work.get(name, ones), np.float64) for name in WORK_COLUMNS},
        padding_tokens=np.zeros(len(step_s)) if padding is None else np.array(padding),
        step_s=np.array(step_s),
        model_s=np.array(step_s if model_s is None else model_s),
    )
