"""First phase of a step: running sequences get their next tokens."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

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
            _schedule_rows(core, plan, core.rows.running)
        except OutOfBlocks:
            make_room(core, plan)
        else:
            break
    if core.fork_copies:
        plan.copies.extend(core.fork_copies.values())
        core.fork_copies.clear()


def schedule_returned(core: SchedulerCore, plan: StepPlan, rows: IndexArray) -> None:
    """Let rows that were swapped in run, and schedule them.

    If memory for their next tokens is short they stay and wait for the next step.
    """
    core.rows.run(rows)
    with suppress(OutOfBlocks):
        _schedule_rows(core, plan, rows)


def schedule_admitted(
    core: SchedulerCore, plan: StepPlan, sequences: list[tuple[int, int, int]]
) -> None:
    """Let admitted sequences run, and schedule them; short of memory, they wait as others do.

    sequences: row, tokens computed and tokens pending of each.
    """
    rows, num_computed, pending = np.array(list(zip(*sequences, strict=True)), np.int64)
    core.rows.run(rows)
    with suppress(OutOfBlocks):
        _schedule(core, plan, rows, num_computed, pending)


def _schedule_rows(core: SchedulerCore, plan: StepPlan, rows: IndexArray) -> None:
    num_computed = core.rows.num_computed[rows]
    _schedule(core, plan, rows, num_computed, core.rows.num_tokens[rows] - num_computed)


def _schedule(
    core: SchedulerCore,
    plan: StepPlan,
    rows: IndexArray,
    num_computed: IndexArray,
    pending: IndexArray,
) -> None:
    """Give rows what is left of the budget. Raises OutOfBlocks (nothing is changed)."""
    scheduled = plan.clip(pending)
    if core.searches:
        scheduled = hold_back(core, rows, pending, scheduled)
    if scheduled is not pending:
        chosen = scheduled > 0
        rows, num_computed = rows[chosen], num_computed[chosen]
        pending, scheduled = pending[chosen], scheduled[chosen]
        if not len(rows):
            return
    copies = core.allocator.grow(rows, num_computed + scheduled)
    plan.add(rows, num_computed, pending, scheduled)
    if len(copies):
        plan.copies.append(copies)
