"""The step loop: schedule, execute, update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from paged.engine.clock import Clock
from paged.engine.executor import Executor
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.request import FinishReason, Request
from paged.scheduler.scheduler import Scheduler


class Observer(Protocol):
    """Something that watches steps without taking part."""

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """See a step that has run, before its ended sequences give memory back."""
        ...

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """See a sequence end."""
        ...


def give_up(error: Exception) -> None:
    """Raise the error of a step to the caller of `step`."""
    raise error


class Engine:
    """Drives one scheduler with one executor, for a model or for a simulation.

    on_failure: called with what made a step fail, once its requests have ended. It raises
        by default; an engine that serves others lets it pass, for they are told each.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        executor: Executor,
        clock: Clock,
        observers: Sequence[Observer] = (),
        *,
        on_failure: Callable[[Exception], None] = give_up,
    ) -> None:
        self.scheduler = scheduler
        self.executor = executor
        self.clock = clock
        self.observers = tuple(observers)
        self.on_failure = on_failure

    @property
    def has_work(self) -> bool:
        """Say whether a step would do anything."""
        return self.scheduler.has_work

    @property
    def now_s(self) -> float:
        """Time on the engine's clock."""
        return self.clock.now_s

    def add_request(self, request: Request) -> None:
        """Queue a request. Raises RequestRefused if it could never run."""
        self.scheduler.add(request)

    def abort(self, request_id: str) -> None:
        """Give a request up; unknown and finished ids are passed over."""
        self.scheduler.abort(request_id)

    def end_sequence(self, request_id: str, sequence_index: int, reason: FinishReason) -> None:
        """End one sequence of a request for a reason that only its user can see."""
        self.scheduler.end_sequence(request_id, sequence_index, reason)

    def step(self) -> list[Finished]:
        """Run one step and return the sequences that ended in it.

        If the executor raises, the requests of the step end with that error, `on_failure`
        is told, and all others go on.
        """
        batch = self.scheduler.schedule()
        finished = self._run(batch)
        for observer in self.observers:
            for sequence in finished:
                observer.on_finished(sequence, now_s=self.clock.now_s)
        return finished

    def _run(self, batch: Batch) -> list[Finished]:
        start_s = self.clock.now_s
        if not batch.num_seqs and not batch.num_moves:
            return self.scheduler.update(batch, _nothing())
        try:
            result = self.executor.execute(batch)
            self.clock.advance(result.duration_s)
            for observer in self.observers:
                observer.on_step(
                    start_s=start_s, batch=batch, result=result, scheduler=self.scheduler
                )
        except BaseException as error:
            # careful: an interrupt too must not leave the step in flight
            finished = self.scheduler.abandon(batch, error)
            if not isinstance(error, Exception):
                raise
            self.on_failure(error)
            return finished
        return self.scheduler.update(batch, result)


def _nothing() -> StepResult:
    return StepResult(
        tokens=np.zeros(0, np.int32), is_stopped=np.zeros(0, np.bool_), duration_s=0.0
    )
