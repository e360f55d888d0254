"""Watch an engine and write every step down."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from experiments.sim.columns import Columns
from experiments.sim.record import REQUEST_COLUMNS, STEP_COLUMNS, HoleSamples, RunRecord
from paged.allocator.base import Allocator
from paged.scheduler.batch import Admitted, Batch, Blocked, Finished, StepResult
from paged.scheduler.scheduler import Scheduler
from paged.types import IndexArray

# Static batching admits nothing while memory is held until the batch ends: that is memory too.
MEMORY_BLOCKS = (Blocked.MEMORY, Blocked.BATCH_RUNNING)
# Listing the free runs costs more than a whole step, and holes change slowly.
STEPS_PER_HOLE_SAMPLE = 16


@runtime_checkable
class HasFreeRuns(Protocol):
    """An allocator whose free space lies in address ranges."""

    def free_runs(self) -> IndexArray:
        """Lengths of the runs it could hand out, in blocks."""
        ...


class Recorder:
    """Engine observer that samples slot classes, queues and request times.

    A step is seen after it ran and before its finished requests leave, so a sample holds
    for the whole step. Under static batching a finished request keeps its rows until
    the batch ends: from then on all its slots count as internal, none as token.
    """

    def __init__(self, allocator: Allocator, *, is_static: bool) -> None:
        max_rows = allocator.tables.max_rows
        num_blocks = allocator.capacity_slots // allocator.tables.block_size
        self._num_hole_bins = num_blocks.bit_length()
        self._allocator = allocator
        self._free_runs = allocator.free_runs if isinstance(allocator, HasFreeRuns) else None
        self._is_static = is_static
        self._steps = Columns(STEP_COLUMNS)
        self._requests = Columns(REQUEST_COLUMNS)
        self._holes = Columns(("step", "index", *map(str, range(self._num_hole_bins))))
        self._final_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self._is_done = np.zeros(max_rows, np.bool_)
        self._rows_of: dict[str, IndexArray] = {}
        self._admitted_s: dict[str, float] = {}
        self._first_token_s: dict[str, float] = {}
        self._awaits_first_token: dict[int, str] = {}

    @property
    def num_steps(self) -> int:
        """Steps seen so far, idle stretches included."""
        return len(self._steps)

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Sample one step. O(live rows) in numpy."""
        for admitted in batch.admitted:
            self._learn(admitted, start_s)
        if self._awaits_first_token:
            self._note_first_tokens(batch, start_s + result.duration_s)
        if self._free_runs is not None and len(self._steps) % STEPS_PER_HOLE_SAMPLE == 0:
            self._sample_holes(self._free_runs())
        is_memory_blocked = batch.blocked in MEMORY_BLOCKS and batch.num_waiting > 0
        self._steps.append(
            (
                start_s,
                result.duration_s,
                *self._slot_classes(),
                batch.num_seqs if self._is_static else scheduler.num_running,
                batch.num_waiting,
                is_memory_blocked,
                batch.num_preempted,
                batch.num_recomputed_tokens,
                np.add.reduce(batch.num_scheduled),
                np.add.reduce(batch.num_samples),
            )
        )

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Write down the times of a request that ended at now_s."""
        request_id = finished.request.request_id
        self._is_done[self._rows_of.pop(request_id)] = True
        self._requests.append(
            (
                finished.request.arrival_s,
                self._admitted_s.pop(request_id),
                self._first_token_s.pop(request_id),
                now_s,
                finished.num_new_tokens,
            )
        )

    def on_idle(self, *, start_s: float, duration_s: float) -> None:
        """Sample a stretch in which no request is in the system."""
        nothing = (0.0,) * (len(STEP_COLUMNS) - 8)
        self._steps.append((start_s, duration_s, *self._slot_classes(), *nothing))

    def finish(self) -> RunRecord:
        """Copy everything seen so far into a record."""
        return RunRecord(
            capacity_slots=self._allocator.capacity_slots,
            block_size=self._allocator.tables.block_size,
            steps=self._steps.named(),
            requests=self._requests.named(),
            holes=self._hole_samples() if len(self._holes) else None,
        )

    def _learn(self, admitted: Admitted, start_s: float) -> None:
        request = admitted.request
        num_new_tokens = request.final_new_tokens or request.max_new_tokens
        # The K and V of a sequence's last token are never stored.
        self._final_tokens[admitted.rows] = request.num_prompt_tokens + num_new_tokens - 1
        self._is_done[admitted.rows] = False
        self._rows_of[request.request_id] = admitted.rows
        self._admitted_s.setdefault(request.request_id, start_s)
        for row in admitted.rows.tolist():
            # careful: the row may be that of a request preempted before its first token.
            self._awaits_first_token.pop(row, None)
        if request.request_id not in self._first_token_s:
            self._awaits_first_token[int(admitted.rows[0])] = request.request_id

    def _note_first_tokens(self, batch: Batch, now_s: float) -> None:
        for row in batch.rows[batch.num_samples > 0].tolist():
            request_id = self._awaits_first_token.pop(row, None)
            if request_id is not None:
                self._first_token_s[request_id] = now_s

    def _slot_classes(self) -> tuple[int, ...]:
        usage = self._allocator.usage(self._final_tokens)
        token, internal = usage.token, usage.internal
        if self._is_static:
            tables = self._allocator.tables
            held = int(tables.num_tokens[self._is_done & tables.is_live].sum())
            token, internal = token - held, internal + held
        return token, usage.reserved, internal, usage.rounding, usage.cached_free, usage.free

    def _sample_holes(self, runs: IndexArray) -> None:
        total = int(runs.sum())
        index = 1.0 - int(runs.max()) / total if total else 0.0
        # frexp is exact: a run of [2**bin, 2**(bin + 1)) blocks has exponent bin + 1.
        counts = np.bincount(np.frexp(runs)[1] - 1, minlength=self._num_hole_bins)
        self._holes.append((len(self._steps), index, *counts.tolist()))

    def _hole_samples(self) -> HoleSamples:
        samples = self._holes.matrix()
        return HoleSamples(
            step=samples[:, 0].astype(np.int64), index=samples[:, 1], counts=samples[:, 2:]
        )
