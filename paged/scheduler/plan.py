"""The step under construction."""

from __future__ import annotations

import numpy as np

from paged.allocator.base import NO_MOVES, BlockMoves, concat_moves
from paged.scheduler.batch import Admitted, Batch, Blocked
from paged.scheduler.core import SchedulerCore
from paged.types import IndexArray

_NO_ROWS: IndexArray = np.zeros(0, np.int64)


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
        # One entry for each phase that scheduled something: rows, num_computed, scheduled.
        self._parts: list[tuple[IndexArray, IndexArray, IndexArray]] = []
        self._pending: list[IndexArray] = []
        self._is_clipped = False

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
        self._is_clipped |= scheduled is not pending
        self._parts.append((rows, num_computed, scheduled))
        self._pending.append(pending)

    def batch(self, core: SchedulerCore, step: int) -> Batch:
        """Freeze the plan."""
        rows, num_computed, num_scheduled = _join(self._parts)
        num_samples, num_drawn = core.rows.ones[: len(rows)], len(rows)
        if self._parts and (core.unforked or self._is_clipped):
            num_samples = (num_scheduled == np.concatenate(self._pending)).astype(np.int64)
            for lead, state in core.unforked.items():
                # A group draws for all its sequences at once, unless it has drawn before.
                num_samples[rows == lead] *= 0 if state.saved else len(state.rows)
            num_drawn = int(np.add.reduce(num_samples))
        return Batch(
            step=step,
            rows=rows,
            num_computed=num_computed,
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


def _join(
    parts: list[tuple[IndexArray, IndexArray, IndexArray]],
) -> tuple[IndexArray, IndexArray, IndexArray]:
    if len(parts) == 1:
        return parts[0]
    rows, num_computed, scheduled = zip(*parts, strict=True) if parts else [(_NO_ROWS,)] * 3
    return np.concatenate(rows), np.concatenate(num_computed), np.concatenate(scheduled)
