"""Last phase of a step: drawn tokens are appended, groups fork, sequences end."""

from __future__ import annotations

import numpy as np

from paged.errors import OutOfBlocks
from paged.scheduler.batch import Batch, Drawn, StepResult
from paged.scheduler.beam import take_beams
from paged.scheduler.core import SchedulerCore
from paged.scheduler.request import FinishReason
from paged.scheduler.request_state import RequestState


def take_samples(
    core: SchedulerCore, batch: Batch, result: StepResult
) -> tuple[Drawn, list[RequestState]]:
    """Append what was drawn and end the sequences it completes.

    Returns what was appended, and the groups that could not fork for want of memory;
    nothing was drawn for them.
    """
    starved: list[RequestState] = []
    rows = batch.rows
    if core.unforked:
        drawn = _fork_groups(core, batch, result, starved)
    else:
        if len(result.tokens) < len(rows):
            rows = rows[batch.num_samples > 0]
        drawn = Drawn(rows=rows, tokens=result.tokens, is_stopped=result.is_stopped)
    if core.searches:
        drawn = take_beams(core, drawn, result)
    _append(core, drawn)
    return drawn, starved


def _fork_groups(
    core: SchedulerCore, batch: Batch, result: StepResult, starved: list[RequestState]
) -> Drawn:
    """Fork the groups whose shared prompt is complete and address their samples."""
    rows: list[int] = []
    places: list[int] = []
    place = 0
    is_complete = batch.seq_lens == core.rows.num_tokens[batch.rows]
    for i, row in enumerate(batch.rows.tolist()):
        count = int(batch.num_samples[i])
        targets = [row] * count
        state = core.unforked.get(row)
        if state is not None and is_complete[i]:
            if _fork(core, state):
                targets = state.rows[:count]
            else:
                starved.append(state)
                targets = []
        rows.extend(targets)
        places.extend(range(place, place + len(targets)))
        place += count
    indices = np.array(places, np.int64)
    return Drawn(
        rows=np.array(rows, np.int64),
        tokens=result.tokens[indices],
        is_stopped=result.is_stopped[indices],
        places=indices,
    )


def _fork(core: SchedulerCore, state: RequestState) -> bool:
    """Give every sequence of a group its own row after the tokens they share."""
    lead, *children = state.rows
    num_shared = int(core.rows.num_tokens[lead])
    try:
        moves = core.allocator.fork(lead, np.array(children, np.int64), num_shared)
    except OutOfBlocks:
        return False
    if len(moves):
        core.fork_copies[state.request.request_id] = moves
    prompt = core.rows.known(lead)
    for place, row in enumerate(state.rows):
        tokens = state.saved[place] if state.saved else prompt
        core.rows.start(row, tokens)
    core.rows.run(np.array(children, np.int64))
    state.saved.clear()
    state.is_forked = True
    del core.unforked[lead]
    return True


def _append(core: SchedulerCore, drawn: Drawn) -> None:
    arrays, rows = core.rows, drawn.rows
    num_tokens = arrays.append(rows, drawn.tokens)
    is_over = drawn.is_stopped | (num_tokens >= arrays.end_tokens[rows])
    ended = is_over.nonzero()[0]
    if len(ended):
        is_stopped = drawn.is_stopped[ended].tolist()
        reasons = [FinishReason.STOP if each else FinishReason.LENGTH for each in is_stopped]
        core.end_rows(rows[ended], reasons)
