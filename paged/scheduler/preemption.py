"""Take memory back from a running request, by recompute or by swap.

The victim is the latest in the order of service, so the earliest always gets on.
Source: PagedAttention, SOSP'23, section 4.5.
"""

from __future__ import annotations

import numpy as np

from paged.scheduler.core import SchedulerCore
from paged.scheduler.plan import StepPlan
from paged.scheduler.request import FinishReason
from paged.scheduler.request_state import RequestState


def make_room(core: SchedulerCore, plan: StepPlan) -> None:
    """Free memory, so that the earliest running request can grow.

    First goes what a static batch keeps for sequences that have ended, then the latest
    request is preempted. A request that runs alone cannot gain by that: what swapped
    requests still hold on the device is freed, then its last sequence, or the search it is,
    ends at the limit of the pool.
    """
    running = core.rows.running
    victim = core.rows.owner_of(int(running[-1]))
    if core.held_rows:
        core.release_held()
    elif core.rows.owner_of(int(running[0])) is not victim:
        preempt(core, plan, victim)
    elif core.swapped:
        restart_swapped(core, plan, core.swapped[-1])
    elif victim.is_forked and not victim.is_search:
        core.end_rows(running[-1:], [FinishReason.LENGTH])
    else:
        core.end_request(victim, FinishReason.LENGTH)


def preempt(core: SchedulerCore, plan: StepPlan, state: RequestState) -> None:
    """Take all memory of a running request; all its sequences go together."""
    plan.num_preempted += 1
    state.num_preemptions += 1
    core.fork_copies.pop(state.request.request_id, None)
    rows = np.array(state.rows, np.int64)
    if core.config.preemption == "swap":
        moves = core.allocator.swap_out(rows)
        if moves is not None:
            plan.swap_out.append(moves)
            core.rows.stop(rows)
            core.add_swapped(state)
            return
    plan.num_recomputed_tokens += restart(core, state)


def restart_swapped(core: SchedulerCore, plan: StepPlan, state: RequestState) -> None:
    """Give up what a swapped request holds; it will be recomputed."""
    plan.num_recomputed_tokens += restart(core, state)


def restart_starved(core: SchedulerCore, state: RequestState) -> None:
    """Put back a group that found no memory to fork; alone, it can never fork."""
    if len(core.states) - len(core.waiting) == 1:
        core.end_request(state, FinishReason.LENGTH)
    else:
        state.num_preemptions += 1
        restart(core, state)


def restart(core: SchedulerCore, state: RequestState) -> int:
    """Queue a request again without its memory; returns the tokens it loses.

    A request that has outgrown the whole pool ends instead.
    """
    core.withdraw(state)
    num_lost_tokens = int(core.num_computed[state.rows].sum())
    if state.is_forked:
        state.saved = [core.rows.known(row) for row in state.rows]
    state.is_forked = False
    for row in state.rows:
        core.disown(row)
    rows = np.array(state.rows, np.int64)
    core.rows.stop(rows)
    core.allocator.release(rows)
    state.rows.clear()
    if core.refusal(state) is None:
        core.waiting.push(state)
    else:
        # It has outgrown the whole pool: waiting would never end.
        core.end_request(state, FinishReason.LENGTH)
    return num_lost_tokens
