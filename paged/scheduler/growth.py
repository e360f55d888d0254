"""First phase of a step: running sequences get their next tokens."""

from __future__ import annotations

from contextlib import suppress

from paged.errors import OutOfBlocks
from paged.scheduler.beam import hold_back
from paged.scheduler.core import SchedulerCore
from paged.scheduler.plan import StepPlan
from paged.scheduler.preemption import make_room
from paged.types import IndexArray


def schedule_running(core: SchedulerCore, plan: StepPlan) -> None:
    """Schedule what the running sequences have left to compute, preempting if need be.

    Decoding sequences have one token left each; a chunked prompt has more and takes
    what the budget leaves.
    """
    while len(core.rows.running):
        try:
            _schedule(core, plan, core.rows.running)
        except OutOfBlocks:
            make_room(core, plan)
        else:
            break
    if core.fork_copies:
        plan.copies.extend(core.fork_copies.values())
        core.fork_copies.clear()


def schedule_rows(core: SchedulerCore, plan: StepPlan, rows: IndexArray) -> None:
    """Let rows that were admitted or swapped in run, and schedule them.

    If memory for their next tokens is short they stay and wait for the next step.
    """
    core.rows.run(rows)
    with suppress(OutOfBlocks):
        _schedule(core, plan, rows)


def _schedule(core: SchedulerCore, plan: StepPlan, rows: IndexArray) -> None:
    """Give rows what is left of the budget. Raises OutOfBlocks (nothing is changed)."""
    num_computed, num_tokens = core.num_computed[rows], core.rows.num_tokens[rows]
    pending = num_tokens - num_computed
    scheduled = plan.clip(pending)
    if core.searches:
        scheduled = hold_back(core, rows, pending, scheduled)
    if scheduled is not pending:
        chosen = scheduled > 0
        rows, num_computed = rows[chosen], num_computed[chosen]
        pending, scheduled = pending[chosen], scheduled[chosen]
        if not len(rows):
            return
        num_tokens = num_computed + scheduled
    copies = core.allocator.grow(rows, num_tokens)
    plan.add(rows, num_computed, pending, scheduled)
    if len(copies):
        plan.copies.append(copies)
