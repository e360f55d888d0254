"""Continuous and static batching: one token budget over running, then waiting requests.

Source: iteration-level scheduling, Orca (OSDI'22); preemption, PagedAttention (SOSP'23,
section 4.5); chunked prefill, Sarathi-Serve (OSDI'24).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from paged.allocator.base import Allocator
from paged.config import SchedulerConfig
from paged.errors import ConfigError, RequestRefused, check
from paged.scheduler.admission import schedule_waiting
from paged.scheduler.batch import NOTHING_DRAWN, Batch, Finished, StepResult
from paged.scheduler.core import SchedulerCore
from paged.scheduler.ending import abort_request, end_late, end_sequence
from paged.scheduler.failure import fail_step
from paged.scheduler.growth import schedule_running
from paged.scheduler.plan import StepPlan
from paged.scheduler.preemption import restart_starved
from paged.scheduler.request import FinishReason, Request
from paged.scheduler.request_state import RequestState
from paged.scheduler.sampling import take_samples
from paged.types import IndexArray


class Scheduler:
    """Decides who runs in the next step and keeps the books of what was drawn.

    `schedule` and `update`, or `abandon`, alternate; a request may be added or aborted at
    any moment.

    drawn: what the latest update appended.
    """

    def __init__(
        self, config: SchedulerConfig, allocator: Allocator, *, max_model_len: int
    ) -> None:
        self.config = config
        self.allocator = allocator
        self._core = SchedulerCore(config, allocator, max_model_len=max_model_len)
        self._num_added = 0
        self._num_steps = 0
        self._in_flight: Batch | None = None
        self.drawn = NOTHING_DRAWN

    @property
    def num_running(self) -> int:
        """Requests that hold memory on the device and take part in steps."""
        core = self._core
        return len(core.states) - len(core.waiting) - len(core.swapped)

    @property
    def states(self) -> Mapping[str, RequestState]:
        """Requests that have not ended, by id, in order of arrival. Not to be written to."""
        return self._core.states

    @property
    def running_rows(self) -> IndexArray:
        """Rows that take part in steps, in order of service. Not to be written to."""
        return self._core.rows.running

    @property
    def num_waiting(self) -> int:
        """Requests that hold nothing."""
        return len(self._core.waiting)

    @property
    def num_swapped(self) -> int:
        """Requests whose blocks are on the host."""
        return len(self._core.swapped)

    @property
    def has_work(self) -> bool:
        """Say whether a step would do anything."""
        return bool(self._core.states or self._core.finished)

    def add(self, request: Request) -> None:
        """Queue a request.

        Raises RequestRefused if it could never run here (nothing is changed).
        """
        core = self._core
        if request.request_id in core.states:
            raise RequestRefused(f"request id {request.request_id!r} is in use; choose another")
        if request.num_prompt_tokens >= core.max_model_len:
            raise RequestRefused(
                f"prompt of {request.num_prompt_tokens} tokens leaves no room for output:"
                f" max_model_len is {core.max_model_len}"
            )
        priority = request.priority if self.config.policy == "priority" else 0
        state = RequestState(
            request=request,
            key=(priority, request.arrival_s, self._num_added),
            sequence_indices=list(range(request.num_sequences)),
        )
        budget = self.config.max_num_batched_tokens
        if state.is_search and budget is not None and request.num_sequences > budget:
            raise RequestRefused(
                f"{request.num_sequences} beams take every step together, and a step has at most"
                f" {budget} tokens; use fewer beams, or more max_num_batched_tokens"
            )
        refusal = core.refusal(state)
        if refusal is not None:
            raise RequestRefused(f"request {request.request_id!r} can never fit: {refusal}")
        self._num_added += 1
        core.states[request.request_id] = state
        if state.is_search:
            core.searches[request.request_id] = state
        core.waiting.push(state)

    def abort(self, request_id: str) -> None:
        """Give a request up, whatever it is doing; unknown ids are passed over.

        Its memory is free at once, or after the step in flight if it takes part in it.
        The next `update` reports it as finished.
        """
        state = self._core.states.get(request_id)
        if state is not None:
            abort_request(self._core, state, is_in_flight=self._in_flight is not None)

    def end_sequence(self, request_id: str, sequence_index: int, reason: FinishReason) -> None:
        """End one sequence of a request, for what only its user can see: a stop string.

        As with `abort`, unknown ids and ended sequences are passed over, and it may take
        until the step in flight is over; the next `update` reports it.
        """
        state = self._core.states.get(request_id)
        if state is not None:
            is_in_flight = self._in_flight is not None
            end_sequence(self._core, state, sequence_index, reason, is_in_flight=is_in_flight)

    def schedule(self) -> Batch:
        """Plan one step. Mutates the allocator and the books; see `Batch`.

        Cost: a fixed number of numpy calls over the running sequences; Python loops
        only over requests that arrive, end or are preempted in the step.
        """
        if self._in_flight is not None:
            raise ConfigError("schedule() was called twice; call update() in between")
        plan = StepPlan(self.config.max_num_batched_tokens)
        schedule_running(self._core, plan)
        schedule_waiting(self._core, plan)
        batch = plan.batch(self._core, self._num_steps)
        self._num_steps += 1
        self._in_flight = batch
        return batch

    def update(self, batch: Batch, result: StepResult) -> list[Finished]:
        """Take in what a step computed and return the sequences that ended."""
        if batch is not self._in_flight:
            raise ConfigError("update() needs the batch of the latest schedule()")
        if not len(result.tokens) == len(result.is_stopped) == batch.num_drawn:
            raise ConfigError(
                f"batch samples {batch.num_drawn} tokens, the result has {len(result.tokens)}"
                f" tokens and {len(result.is_stopped)} stop flags"
            )
        core = self._core
        self._in_flight = None
        self.allocator.commit(batch.rows, core.rows.tokens)
        self.drawn, starved = take_samples(core, batch, result)
        for state in starved:
            restart_starved(core, state)
        return self._end_step()

    def abandon(self, batch: Batch, error: BaseException) -> list[Finished]:
        """Take in that a step could not be run, in place of `update`.

        The requests that took part in it end with the error and give all they hold back.
        The others live; what the step was to move of them is computed again.
        """
        if batch is not self._in_flight:
            raise ConfigError("abandon() needs the batch of the latest schedule()")
        self._in_flight = None
        self.drawn = NOTHING_DRAWN
        fail_step(self._core, batch, error)
        return self._end_step()

    def _end_step(self) -> list[Finished]:
        core = self._core
        if core.aborted or core.ending:
            end_late(core)
        finished, core.finished = core.finished, []
        return finished

    def check_integrity(self) -> None:
        """Raise IntegrityError unless every request is in exactly one place."""
        core = self._core
        self.allocator.check_integrity()
        rows: list[int] = list(core.held_rows)
        for request_id, state in core.states.items():
            in_queue = request_id in core.waiting
            check(in_queue == (not state.rows), f"{request_id} waits and has rows, or neither")
            check(bool(state.sequence_indices), f"{request_id} is over and still known")
            rows.extend(state.rows)
        check(
            sorted(rows) == self.allocator.tables.live_rows().tolist(),
            "live rows of the allocator are not exactly those of the requests",
        )
        arrays = core.rows
        running = arrays.running
        check(len(np.unique(running)) == len(running), "a row runs twice")
        pending = arrays.num_tokens[running] - core.num_computed[running]
        check(bool((pending >= 1).all()) or self._in_flight is not None, "nothing to compute")
        keys = [arrays.owner_of(row).key for row in running.tolist()]
        check(keys == sorted(keys), "running rows are out of order")
