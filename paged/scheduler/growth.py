"""First phase of a step: running sequences get their next tokens."""

from __future__ import annotations

import numpy as np

from paged.errors import OutOfBlocks
from paged.scheduler.core import SchedulerCore
from paged.scheduler.plan import StepPlan
from paged.scheduler.preemption import make_room


def schedule_running(core: SchedulerCore, plan: StepPlan) -> None:
    """Schedule what the running sequences have left to compute, preempting if need be.

    Decoding sequences have one token left each; a chunked prompt has more and takes
    what the budget leaves.
    """
    arrays = core.rows
    while len(arrays.running):
        rows = arrays.running
        scheduled = plan.clip(arrays.num_tokens[rows] - arrays.num_computed[rows])
        if plan.budget_tokens is not None and not scheduled.all():
            rows, scheduled = rows[scheduled > 0], scheduled[scheduled > 0]
        try:
            copies = core.allocator.grow(rows, arrays.num_computed[rows] + scheduled)
        except OutOfBlocks:
            make_room(core, plan)
            continue
        plan.add(rows, scheduled)
        plan.copies.append(copies)
        break
    for moves in core.fork_copies.values():
        plan.copies.append(moves)
    core.fork_copies.clear()


def grow_new(core: SchedulerCore, plan: StepPlan, rows: list[int]) -> None:
    """Schedule rows that were admitted or swapped in during this step.

    If memory for their next tokens is short they stay and wait for the next step.
    """
    arrays = core.rows
    indices = np.array(rows, np.int64)
    scheduled = plan.clip(arrays.num_tokens[indices] - arrays.num_computed[indices])
    indices, scheduled = indices[scheduled > 0], scheduled[scheduled > 0]
    if not len(indices):
        return
    try:
        copies = core.allocator.grow(indices, arrays.num_computed[indices] + scheduled)
    except OutOfBlocks:
        return
    plan.add(indices, scheduled)
    plan.copies.append(copies)
