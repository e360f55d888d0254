"""Where the time of a run went: work, padding, idle rows, and no model at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.live.steps import Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Parts of a run's time in %; they sum to 100.

    no_model_pct: outside the model: scheduling, block tables, inputs, drawing, text.
    padding_pct: inside the model, on tokens of no sequence. A step's time counts by the share
        of such tokens among those that the model was given.
    idle_pct: inside the model, for rows that hold memory and compute nothing. The rest of a
        step's time counts by the share of such rows among those that hold memory.
    work_pct: what is left.
    """

    work_pct: float
    padding_pct: float
    idle_pct: float
    no_model_pct: float


def shares_of(steps: Steps) -> Shares:
    """Split the time of a run."""
    work = steps.work
    given = work["scheduled_tokens"] + steps.padding_tokens
    is_padding = steps.padding_tokens / np.maximum(given, 1)
    is_idle = 1.0 - work["seqs"] / np.maximum(work["held_rows"], 1)
    padding_s = steps.model_s * is_padding
    idle_s = (steps.model_s - padding_s) * is_idle
    run_s = float(steps.step_s.sum())
    no_model, padding, idle = (
        100.0 * float(part.sum()) / run_s
        for part in (steps.step_s - steps.model_s, padding_s, idle_s)
    )
    return Shares(
        work_pct=100.0 - no_model - padding - idle,
        padding_pct=padding,
        idle_pct=idle,
        no_model_pct=no_model,
    )


def tokens_per_s(steps: Steps) -> float:
    """Output tokens by the time of the run."""
    return float(steps.work["new_tokens"].sum() / steps.step_s.sum())


def mean_batch(steps: Steps) -> float:
    """Sequences that a step computes, weighted by the time of the step."""
    return float(np.average(steps.work["seqs"], weights=steps.step_s))
