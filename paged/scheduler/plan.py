"""The step under construction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from paged.allocator.base import BlockMoves, concat_moves
from paged.scheduler.batch import Admitted, Batch, Blocked
from paged.scheduler.core import SchedulerCore
from paged.types import IndexArray


def _no_rows() -> IndexArray:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class StepPlan:
    """What the phases of `schedule` have decided so far.

    budget_tokens: tokens that may still be scheduled; None is no limit.
    """

    budget_tokens: int | None
    rows: IndexArray = field(default_factory=_no_rows)
    num_scheduled: IndexArray = field(default_factory=_no_rows)
    swap_out: list[BlockMoves] = field(default_factory=list[BlockMoves])
    swap_in: list[BlockMoves] = field(default_factory=list[BlockMoves])
    copies: list[BlockMoves] = field(default_factory=list[BlockMoves])
    admitted: list[Admitted] = field(default_factory=list[Admitted])
    num_preempted: int = 0
    num_recomputed_tokens: int = 0
    blocked: Blocked = Blocked.NOTHING

    def clip(self, num_tokens: IndexArray) -> IndexArray:
        """Give each of several sequences what the budget leaves it, in order."""
        if self.budget_tokens is None:
            return num_tokens
        ends = np.cumsum(num_tokens)
        if not len(ends) or ends[-1] <= self.budget_tokens:
            return num_tokens
        return np.clip(self.budget_tokens - (ends - num_tokens), 0, num_tokens)

    def add(self, rows: IndexArray, num_scheduled: IndexArray) -> None:
        """Schedule tokens of rows and charge the budget."""
        if self.budget_tokens is not None:
            self.budget_tokens -= int(num_scheduled.sum())
        if len(self.rows):
            rows = np.concatenate([self.rows, rows])
            num_scheduled = np.concatenate([self.num_scheduled, num_scheduled])
        self.rows, self.num_scheduled = rows, num_scheduled

    def batch(self, core: SchedulerCore, step: int) -> Batch:
        """Freeze the plan."""
        arrays, rows = core.rows, self.rows
        num_computed = arrays.num_computed[rows]
        is_complete = num_computed + self.num_scheduled == arrays.num_tokens[rows]
        return Batch(
            step=step,
            rows=rows,
            num_computed=num_computed,
            num_scheduled=self.num_scheduled,
            num_samples=is_complete * arrays.samples_due[rows],
            tables=core.allocator.tables,
            tokens=arrays.tokens,
            swap_out=concat_moves(self.swap_out),
            swap_in=concat_moves(self.swap_in),
            copies=concat_moves(self.copies),
            admitted=tuple(self.admitted),
            num_preempted=self.num_preempted,
            num_recomputed_tokens=self.num_recomputed_tokens,
            num_waiting=len(core.waiting) + len(core.swapped),
            blocked=self.blocked,
        )
