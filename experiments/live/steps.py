"""What every step of a run was, and how long it took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.sim.columns import Columns
from experiments.sim.record import Column
from paged.engine.step_result import ModelStepResult
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.scheduler import Scheduler

WORK_COLUMNS = (
    "seqs",
    "held_rows",
    "scheduled_tokens",
    "context_tokens",
    "new_tokens",
    "preempted",
)
"""What a step computes: the same in every run of the same requests."""
MEASURED_COLUMNS = ("padding_tokens", "step_s", "model_s")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """Every step of a run.

    work: WORK_COLUMNS, [steps] each. seqs compute tokens in the step; held_rows have memory,
        be it only because their batch has not ended.
    padding_tokens[steps]: tokens of no sequence that the model was given besides.
    step_s[steps]: from the end of the step before to the end of this one, so that they sum
        to the time of the run. model_s[steps]: the part of it inside the model.
    """

    work: dict[str, Column]
    padding_tokens: Column
    step_s: Column
    model_s: Column

    def __len__(self) -> int:
        return len(self.step_s)

    def part(self, steps: slice) -> Steps:
        """Keep some of the steps."""
        return Steps(
            work={name: column[steps] for name, column in self.work.items()},
            padding_tokens=self.padding_tokens[steps],
            step_s=self.step_s[steps],
            model_s=self.model_s[steps],
        )

    def has_work_of(self, other: Steps) -> bool:
        """Say whether another run had the very same steps."""
        return all(np.array_equal(self.work[name], other.work[name]) for name in WORK_COLUMNS)


class StepLog:
    """Engine observer that writes every step down; without a model all time is the model's."""

    def __init__(self, start_s: float) -> None:
        self._columns = Columns((*WORK_COLUMNS, *MEASURED_COLUMNS))
        self._end_s = start_s

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Write one step down. The executor has run, and nothing has left its row yet."""
        end_s = start_s + result.duration_s
        step_s, self._end_s = end_s - self._end_s, end_s
        model_s, num_given = step_s, batch.num_tokens
        if isinstance(result, ModelStepResult):
            model_s, num_given = result.model_s, result.num_given_tokens
        self._columns.append(
            (
                batch.num_seqs,
                int(np.count_nonzero(scheduler.allocator.tables.is_live)),
                batch.num_tokens,
                batch.num_context_tokens,
                batch.num_drawn,
                batch.num_preempted,
                num_given - batch.num_tokens,
                step_s,
                model_s,
            )
        )

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Do nothing: what a step drew is counted already."""

    def steps(self) -> Steps:
        """Copy what was seen so far."""
        columns = self._columns.named()
        measured = {name: columns.pop(name) for name in MEASURED_COLUMNS}
        return Steps(work=columns, **measured)


def median_of(rounds: list[Steps]) -> Steps:
    """Take each step's times as their medians over rounds, which all had the same work."""
    return Steps(
        work=rounds[0].work,
        padding_tokens=rounds[0].padding_tokens,
        step_s=np.median([each.step_s for each in rounds], axis=0),
        model_s=np.median([each.model_s for each in rounds], axis=0),
    )
