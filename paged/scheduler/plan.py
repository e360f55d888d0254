"""The step under construction."""

from __future__ import annotations

from operator import is_not

import numpy as np

from paged.allocator.base import NO_MOVES, BlockMoves, concat_moves
from paged.scheduler.batch import Admitted, Batch, Blocked
from paged.scheduler.core import SchedulerCore
from paged.types import IndexArray


class StepPlan:
    """What the phases of `schedule` have decided so far.

    budget_tokens: tokens that may still be scheduled; None is no limit.
    """

    def __init__(self, budget_tokens: int | None) -> None:
        self.budget_tokens = budget_tokens
        self.swap_out: list[BlockMoves] = []
        self.swap_in: list[BlockMoves] = []
        self.copies: list[BlockMoves] = []
        self.admitted: list[Admitted] = []
        self.num_preempted = 0
        self.num_recomputed_tokens = 0
        self.blocked = Blocked.NOTHING
        # Parallel: one entry for each phase that scheduled something.
        self._rows: list[IndexArray] = []
        self._num_computed: list[IndexArray] = []
        self._num_scheduled: list[IndexArray] = []
        self._pending: list[IndexArray] = []

    def clip(self, num_tokens: IndexArray) -> IndexArray:
        """Give each of several sequences what the budget leaves it, in order."""
        budget = self.budget_tokens
        if budget is None or int(np.add.reduce(num_tokens)) <= budget:
            return num_tokens
        return np.clip(budget - (np.cumsum(num_tokens) - num_tokens), 0, num_tokens)

    def add(
        self, rows: IndexArray, num_computed: IndexArray, pending: IndexArray, scheduled: IndexArray
    ) -> None:
        """Schedule some of the pending tokens of rows and charge the budget.

        A row whose known tokens are then all computed draws one more.
        """
        if self.budget_tokens is not None:
            self.budget_tokens -= int(np.add.reduce(scheduled))
        self._rows.append(rows)
        self._num_computed.append(num_computed)
        self._num_scheduled.append(scheduled)
        self._pending.append(pending)

    def batch(self, core: SchedulerCore, step: int) -> Batch:
        """Freeze the plan."""
        rows, num_scheduled = _join(self._rows), _join(self._num_scheduled)
        num_samples, num_drawn = core.rows.ones[: len(rows)], len(rows)
        if core.unforked or any(map(is_not, self._num_scheduled, self._pending)):
            num_samples = (num_scheduled == _join(self._pending)).astype(np.int64)
            for lead, state in core.unforked.items():
                # A group draws for all its sequences at once, unless it has drawn before.
                num_samples[rows == lead] *= 0 if state.saved else len(state.rows)
            num_drawn = int(np.add.reduce(num_samples))
        return Batch(
            step=step,
            rows=rows,
            num_computed=_join(self._num_computed),
            num_scheduled=num_scheduled,
            num_samples=num_samples,
            num_drawn=num_drawn,
            group_tables=core.allocator.group_tables,
            tokens=core.rows.tokens,
            swap_out=concat_moves(self.swap_out) if self.swap_out else NO_MOVES,
            swap_in=concat_moves(self.swap_in) if self.swap_in else NO_MOVES,
            copies=concat_moves(self.copies) if self.copies else NO_MOVES,
            admitted=tuple(self.admitted),
            num_preempted=self.num_preempted,
            num_recomputed_tokens=self.num_recomputed_tokens,
            num_waiting=len(core.waiting) + len(core.swapped),
            blocked=self.blocked,
        )


def _join(parts: list[IndexArray]) -> IndexArray:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
