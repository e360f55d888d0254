"""The part of a run that is measured: after warm-up, before drain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.sim.record import RunRecord
from paged.errors import ConfigError
from paged.types import BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch [start_s, end_s) of a run.

    has_step[steps]: the step starts in the window.
    has_request[requests]: the request ended in the window.
    is_steady: warm-up and drain are cut off; False where the run was too short for that
        and the window is the whole run.
    """

    start_s: float
    end_s: float
    has_step: BoolArray
    has_request: BoolArray
    is_steady: bool


def _window(record: RunRecord, start_s: float, end_s: float, *, is_steady: bool) -> Window:
    starts, ends = record.steps["start_s"], record.requests["finished_s"]
    return Window(
        start_s=start_s,
        end_s=end_s,
        has_step=(starts >= start_s) & (starts < end_s),
        has_request=(ends >= start_s) & (ends < end_s),
        is_steady=is_steady,
    )


def steady_window(record: RunRecord, *, is_saturated: bool) -> Window:
    """Cut warm-up and drain off a run.

    Warm-up lasts until the first completion plus one mean service time (admission to
    last token). Drain starts with the last first-time admission when everything is queued
    from the start, else with the last arrival.
    Raises: ConfigError if no request completed.
    """
    requests, steps = record.requests, record.steps
    if not len(requests["finished_s"]):
        raise ConfigError("expected at least one request to complete, got none; add requests")
    service_s = float(np.mean(requests["finished_s"] - requests["admitted_s"]))
    start_s = float(requests["finished_s"][0]) + service_s
    end_s = float(requests["admitted_s" if is_saturated else "arrival_s"].max())
    window = _window(record, start_s, end_s, is_steady=True)
    if bool((steps["running"][window.has_step] > 0).any()) and bool(window.has_request.any()):
        return window
    last_s = float(steps["start_s"][-1] + steps["duration_s"][-1])
    return _window(record, 0.0, np.nextafter(last_s, np.inf), is_steady=False)
