"""The step loop: schedule, execute, update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from paged.engine.clock import Clock
from paged.engine.executor import Executor
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.request import Request
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


class Engine:
    """Drives one scheduler with one executor, for a model or for a simulation."""

    def __init__(
        self,
        scheduler: Scheduler,
        executor: Executor,
        clock: Clock,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.scheduler = scheduler
        self.executor = executor
        self.clock = clock
        self.observers = tuple(observers)

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

    def step(self) -> list[Finished]:
        """Run one step and return the sequences that ended in it."""
        start_s = self.clock.now_s
        batch = self.scheduler.schedule()
        if batch.num_seqs or batch.num_moves:
            result = self.executor.execute(batch)
            self.clock.advance(result.duration_s)
            for observer in self.observers:
                observer.on_step(
                    start_s=start_s, batch=batch, result=result, scheduler=self.scheduler
                )
        else:
            result = _nothing()
        finished = self.scheduler.update(batch, result)
        for observer in self.observers:
            for sequence in finished:
                observer.on_finished(sequence, now_s=self.clock.now_s)
        return finished


def _nothing() -> StepResult:
    return StepResult(
        tokens=np.zeros(0, np.int32), is_stopped=np.zeros(0, np.bool_), duration_s=0.0
    )
