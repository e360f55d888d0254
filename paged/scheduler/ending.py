"""Ways a request or one of its sequences ends from outside, whatever it is doing."""

from __future__ import annotations

import numpy as np

from paged.scheduler.core import SchedulerCore
from paged.scheduler.request import FinishReason
from paged.scheduler.request_state import RequestState


def abort_request(core: SchedulerCore, state: RequestState, *, is_in_flight: bool) -> None:
    """Give a request up, now or, if it takes part in the step in flight, after that."""
    if not is_in_flight or core.is_idle(state):
        core.end_request(state, FinishReason.ABORT)
    elif state not in core.aborted:
        core.aborted.append(state)


def end_sequence(
    core: SchedulerCore,
    state: RequestState,
    sequence_index: int,
    reason: FinishReason,
    *,
    is_in_flight: bool,
) -> None:
    """End one sequence of a request, now or as soon as it is on a row of its own.

    A request without other sequences ends as a whole.
    """
    if sequence_index not in state.sequence_indices:
        return
    is_busy = is_in_flight and not core.is_idle(state)
    if is_busy or (state.rows and not state.is_forked):
        state.ending[sequence_index] = reason
        if state not in core.ending:
            core.ending.append(state)
        return
    if len(state.sequence_indices) == 1:
        core.end_request(state, reason)
    else:
        _end_one(core, state, sequence_index, reason)


def _end_one(
    core: SchedulerCore, state: RequestState, sequence_index: int, reason: FinishReason
) -> None:
    place = state.sequence_indices.index(sequence_index)
    if state.rows:
        core.end_rows(np.array([state.rows[place]], np.int64), [reason])
    else:
        core.end_waiting(state, place, reason)


def end_late(core: SchedulerCore) -> None:
    """End what was to end while a step was in flight. Call it when no step is."""
    for state in core.aborted:
        # Its own last step may have ended it.
        if state.sequence_indices:
            core.end_request(state, FinishReason.ABORT)
    core.aborted.clear()
    postponed, core.ending = core.ending, []
    for state in postponed:
        pending = dict(state.ending)
        state.ending.clear()
        for index, reason in pending.items():
            end_sequence(core, state, index, reason, is_in_flight=False)
