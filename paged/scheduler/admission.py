"""Second phase of a step: swapped requests return, then waiting ones are admitted."""

from __future__ import annotations

import numpy as np

from paged.allocator.base import Admission
from paged.scheduler.batch import Admitted, Blocked
from paged.scheduler.core import SchedulerCore
from paged.scheduler.growth import schedule_rows
from paged.scheduler.plan import StepPlan
from paged.scheduler.preemption import restart_swapped
from paged.scheduler.request_state import RequestState
from paged.types import TokenArray


def schedule_waiting(core: SchedulerCore, plan: StepPlan) -> None:
    """Bring in as many requests as memory and budget allow, in order.

    Nothing comes in during a step that preempted, nor past a request that is swapped
    out: the host pool then never holds more than the device pool did.
    """
    if plan.num_preempted:
        plan.blocked = Blocked.MEMORY
    elif core.swapped:
        _swap_in(core, plan)
    elif len(core.waiting):
        _admit(core, plan)


def _swap_in(core: SchedulerCore, plan: StepPlan) -> None:
    while core.swapped:
        state = core.swapped[0]
        headroom = state.headroom_blocks(core.allocator.num_blocks)
        moves = core.allocator.swap_in(np.array(state.rows, np.int64), headroom)
        if moves is not None:
            core.swapped.pop(0)
            plan.swap_in.append(moves)
            schedule_rows(core, plan, np.array(state.active_rows, np.int64))
        elif len(core.rows.running):
            plan.blocked = Blocked.MEMORY
            return
        else:
            # Nothing runs, so what keeps the first out is what the others still hold.
            restart_swapped(core, plan, core.swapped[-1])
    if len(core.waiting):
        plan.blocked = Blocked.MEMORY


def _admit(core: SchedulerCore, plan: StepPlan) -> None:
    if core.is_static and len(core.rows.running):
        plan.blocked = Blocked.BATCH_RUNNING
        return
    leads: list[int] = []
    budget = plan.budget_tokens
    while len(core.waiting):
        if budget is not None and budget <= 0:
            plan.blocked = Blocked.TOKEN_BUDGET
            break
        found = _first_that_fits(core)
        if isinstance(found, Blocked):
            plan.blocked = found
            break
        state, admission = found
        known = state.known_tokens()
        leads.append(_start(core, plan, state, admission, known))
        if budget is not None:
            budget -= len(known) - admission.num_cached_tokens
    if leads:
        schedule_rows(core, plan, np.array(leads, np.int64))


def _first_that_fits(core: SchedulerCore) -> tuple[RequestState, Admission] | Blocked:
    for state in core.waiting.first(1 + core.config.lookahead):
        demand = state.demand
        if demand is None:
            continue
        if core.allocator.tables.num_free_rows < demand.num_sequences:
            return Blocked.SEQUENCE_LIMIT
        admission = core.allocator.admit(demand)
        if admission is not None:
            return state, admission
    return Blocked.MEMORY


def _start(
    core: SchedulerCore,
    plan: StepPlan,
    state: RequestState,
    admission: Admission,
    known: TokenArray,
) -> int:
    """Put an admitted request on its rows and return the row that computes what is known."""
    core.waiting.remove(state)
    state.rows = admission.rows.tolist()
    lead = state.rows[0]
    end = min(state.request.num_prompt_tokens + state.request.max_new_tokens, core.max_model_len)
    core.rows.claim(state, end)
    core.rows.start(lead, known)
    state.is_forked = not state.is_group
    if state.is_group:
        core.unforked[lead] = state
    else:
        state.saved.clear()
    if len(admission.copies):
        plan.copies.append(admission.copies)
    plan.admitted.append(
        Admitted(
            request=state.request,
            rows=admission.rows,
            sequence_indices=tuple(state.sequence_indices),
            num_cached_tokens=admission.num_cached_tokens,
            is_resumed=state.num_preemptions > 0,
        )
    )
    return lead
