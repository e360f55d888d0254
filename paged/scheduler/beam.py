"""Beam searches: sequences of one request that take every step together and fork in each.

Rows of a search draw in the same step or not at all, for each beam may go on from any
other. A row whose own tokens go on keeps its blocks; one whose tokens are given up is
emptied and forks from the row it goes on from, so full blocks are shared and the last,
part-filled one is copied when it is written.
Source: PagedAttention, SOSP'23, section 4.4.
"""

from __future__ import annotations

import numpy as np

from paged.allocator.base import BlockMoves, concat_moves
from paged.errors import check
from paged.scheduler.batch import Drawn, EndedSearch, StepResult
from paged.scheduler.core import SchedulerCore
from paged.scheduler.request_state import RequestState
from paged.types import BoolArray, IndexArray


def hold_back(
    core: SchedulerCore, rows: IndexArray, pending: IndexArray, scheduled: IndexArray
) -> IndexArray:
    """Leave a token to compute on the rows of a search that could not all be completed.

    Shapes: all [rows]. Returns the tokens to schedule: scheduled itself, where all is well.
    """
    held = scheduled
    for state in _forked_searches(core):
        places = np.isin(rows, state.rows).nonzero()[0]
        is_whole = scheduled[places] == pending[places]
        if is_whole.any() and not is_whole.all():
            held = scheduled.copy() if held is scheduled else held
            held[places] -= is_whole
    return held


def take_beams(core: SchedulerCore, drawn: Drawn, result: StepResult) -> Drawn:
    """Fork rows as the searches of a step say, and end the searches that are over.

    Returns what is left to append.
    """
    if result.parents is None:
        return drawn
    parents = result.parents if drawn.places is None else result.parents[drawn.places]
    is_over = np.zeros(len(drawn.rows), np.bool_)
    for ended in result.searches:
        state = core.states.get(ended.request_id)
        if state is not None and state.is_forked:
            is_over |= np.isin(drawn.rows, state.rows)
            _end(core, state, ended)
    for state in _forked_searches(core):
        places = np.isin(drawn.rows, state.rows).nonzero()[0]
        if len(places):
            check(drawn.rows[places].tolist() == state.rows, "a search drew for some of its rows")
            _fork(core, state, parents[places])
    return _without(drawn, is_over) if is_over.any() else drawn


def _forked_searches(core: SchedulerCore) -> list[RequestState]:
    return [state for state in core.searches.values() if state.is_forked]


def _fork(core: SchedulerCore, state: RequestState, parents: IndexArray) -> None:
    """Let each row of a search hold the tokens of its parent."""
    rows, arrays = np.array(state.rows, np.int64), core.rows
    is_moved = parents != np.arange(len(rows))
    if not is_moved.any():
        return
    check(not is_moved[parents].any(), "a beam goes on from one that moves itself")
    core.allocator.empty(rows[is_moved])
    moves: list[BlockMoves] = []
    for parent in np.unique(parents[is_moved]).tolist():
        row = int(rows[parent])
        children = rows[is_moved & (parents == parent)]
        num_tokens = int(core.num_computed[row])
        moves.append(core.allocator.fork(row, children, num_tokens))
        arrays.tokens[children, :num_tokens] = arrays.tokens[row, :num_tokens]
    copies = concat_moves(moves)
    if len(copies):
        core.fork_copies[state.request.request_id] = copies


def _end(core: SchedulerCore, state: RequestState, ended: EndedSearch) -> None:
    """Report the outcome of a search in place of what its rows hold."""
    prompt = np.asarray(state.request.prompt_tokens, np.int32)
    indices = state.sequence_indices
    state.saved = [np.concatenate([prompt, ended.outputs[index]]) for index in indices]
    reasons = [ended.reasons[index] for index in indices]
    core.end_rows(np.array(state.rows, np.int64), reasons)


def _without(drawn: Drawn, is_over: BoolArray) -> Drawn:
    stays = (~is_over).nonzero()[0]
    return Drawn(
        rows=drawn.rows[stays],
        tokens=drawn.tokens[stays],
        is_stopped=drawn.is_stopped[stays],
        places=stays if drawn.places is None else drawn.places[stays],
    )
