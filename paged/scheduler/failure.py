"""What becomes of requests when the executor could not run a step."""

from __future__ import annotations

from paged.scheduler.batch import Batch
from paged.scheduler.core import SchedulerCore
from paged.scheduler.preemption import restart
from paged.scheduler.request import FinishReason
from paged.scheduler.request_state import RequestState
from paged.types import IndexArray


def fail_step(core: SchedulerCore, batch: Batch, error: BaseException) -> None:
    """End the requests that took part in a step, and let the others do without its moves.

    How far the executor came is unknown. What the step was to compute is lost with its
    requests; a request that was only moved, or may have been, is computed again.
    """
    # careful: first, so that nothing of it is registered as its rows are released
    core.allocator.abandon()
    for state in _participants(core, batch):
        state.error = error
        core.end_request(state, FinishReason.ERROR)
    if batch.num_moves:
        for state in [*core.swapped, *_owners(core, core.rows.running)]:
            restart(core, state)


def _participants(core: SchedulerCore, batch: Batch) -> list[RequestState]:
    states = _owners(core, batch.rows)
    admitted = [core.states.get(admitted.request.request_id) for admitted in batch.admitted]
    return list(dict.fromkeys([*states, *(state for state in admitted if state is not None)]))


def _owners(core: SchedulerCore, rows: IndexArray) -> list[RequestState]:
    numbers: list[int] = rows.tolist()
    owners = [core.rows.owner[row] for row in numbers]
    return list(dict.fromkeys(state for state in owners if state is not None))
