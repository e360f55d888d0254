"""The executor protocol: what turns a batch into tokens."""

from __future__ import annotations

from typing import Protocol

from paged.scheduler.batch import Batch, StepResult


class Executor(Protocol):
    """Runs batches. One implementation computes a model, another replays a trace."""

    def execute(self, batch: Batch) -> StepResult:
        """Run one step and say what was drawn and how long it took.

        Mutates the KV pool, if there is one, and nothing of the batch.
        """
        ...
