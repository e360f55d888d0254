"""Internal waste measured live: slot classes over time, on an engine that serves.

While a sequence runs nobody knows how long it will be, so the slots it was granted and
does not use yet are one class. When it ends, the time it held them is split after the
fact into *reserved* (it came to use them) and *internal* (it never did).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paged.scheduler.batch import Admitted, Batch, Finished, StepResult
from paged.scheduler.scheduler import Scheduler
from paged.types import IndexArray

Sequence = tuple[str, int]
"""Request id and sequence index."""


@dataclass(frozen=True, slots=True)
class _Tenure:
    """One sequence's time on a row, up to its end or its preemption.

    unused_slot_s: integral of granted minus used slots.
    granted_slots: slots held in the end, of them the last were granted
    last_grant_s seconds before that end.
    """

    unused_slot_s: float
    granted_slots: int
    last_grant_s: float

    def internal_slot_s(self, final_tokens: int) -> float:
        """Integral of the slots that a sequence of final_tokens never filled.

        Slots are granted when the ones before are full, so all that was granted
        earlier was filled.
        """
        never_filled = max(0, self.granted_slots - final_tokens)
        return min(never_filled * self.last_grant_s, self.unused_slot_s)


class UsageMeter:
    """Observer that integrates slot classes over engine time, in slot-seconds.

    Exact where every step is sampled, but for what unused slots of a part-filled block that
    forks share come to: all sequences share in those until the first fork writes to it. What a
    static batch keeps for sequences that have ended is internal. Of several KV groups the first
    alone is split.

    sample_every: steps that the allocator is asked once for. What rows hold and use is followed in
        those between too, and a prompt with a cached beginning has it asked; no more than what
        comes to be shared, or cached, within so few steps counts as free or as token meanwhile.
    """

    def __init__(self, max_rows: int, *, sample_every: int = 1) -> None:
        self.elapsed_s = 0.0
        self._sample_every = sample_every
        self._latest: dict[str, int] = {}
        # Slots that rows used, and were granted beyond, when the allocator was asked last.
        self._used_then, self._unused_then = 0, 0
        self._slot_s: dict[str, float] = {}
        self._unused_slot_s = np.zeros(max_rows, np.float64)
        self._granted_slots: IndexArray = np.zeros(max_rows, np.int64)
        self._granted_at_s = np.zeros(max_rows, np.float64)
        self._sequence_on: dict[int, Sequence] = {}
        self._row_of: dict[Sequence, int] = {}
        self._earlier: dict[Sequence, list[_Tenure]] = {}
        self._ended_rows: set[int] = set()

    def slot_seconds(self) -> dict[str, float]:
        """Time that slots spent in each class so far; what was unused and ended is split."""
        return dict(self._slot_s)

    def shares(self) -> dict[str, float]:
        """Time-weighted share of each slot class, summing to 1 once time has passed."""
        total = sum(self._slot_s.values())
        return {name: value / total for name, value in self._slot_s.items()} if total else {}

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Add one step."""
        if batch.num_preempted:
            self._close_preempted(scheduler)
        for admitted in batch.admitted:
            self._admit(admitted)
        duration_s = result.duration_s
        tables, rows = batch.tables, scheduler.running_rows
        granted = tables.num_blocks[rows] * tables.block_size
        unused = granted - tables.num_tokens[rows]
        num_unused = int(unused.sum())
        num_used = int(granted.sum()) - num_unused
        classes = self._classes_now(batch, scheduler, num_used=num_used, num_unused=num_unused)
        for name, slots in classes.items():
            self._slot_s[name] = self._slot_s.get(name, 0.0) + slots * duration_s
        grown = rows[granted > self._granted_slots[rows]]
        self._granted_at_s[grown] = self.elapsed_s
        self._granted_slots[rows] = granted
        # Forks that share a block have its unused slots together.
        share = min(1.0, classes["granted_unused"] / max(1, num_unused))
        self._unused_slot_s[rows] += unused * (share * duration_s)
        self.elapsed_s += duration_s

    def _classes_now(
        self, batch: Batch, scheduler: Scheduler, *, num_used: int, num_unused: int
    ) -> dict[str, int]:
        """Slots by class: asked for, or those of the last time with what rows did since.

        What rows were granted and do not use must be exact: it is taken off again at their ends.
        num_used, num_unused: slots that running rows use, and were granted beyond.
        """
        is_due = not self._latest or batch.step % self._sample_every == 0
        if is_due or any(admitted.num_cached_tokens for admitted in batch.admitted):
            self._latest = self._classes(scheduler)
            self._used_then, self._unused_then = num_used, num_unused
            return self._latest
        more_used, more_unused = num_used - self._used_then, num_unused - self._unused_then
        now = dict(self._latest)
        now["token"] += more_used
        now["granted_unused"] += more_unused
        now["free"] -= more_used + more_unused
        return now

    def _classes(self, scheduler: Scheduler) -> dict[str, int]:
        """Slots by class now, ended sequences whose rows are still held as internal."""
        classes = scheduler.allocator.usage(None).classes()
        tables = scheduler.allocator.tables
        self._ended_rows = {row for row in self._ended_rows if tables.is_live[row]}
        for row in self._ended_rows:
            num_tokens = int(tables.num_tokens[row])
            granted = int(tables.num_blocks[row]) * tables.block_size
            classes["token"] -= num_tokens
            classes["granted_unused"] -= granted - num_tokens
            classes["internal"] += granted
        return classes

    def _close_preempted(self, scheduler: Scheduler) -> None:
        """End the tenure of rows that a step took out of the running batch."""
        running = set(scheduler.running_rows.tolist())
        for row, sequence in self._sequence_on.items():
            if row not in running:
                self._close_tenure(sequence, row)

    def _admit(self, admitted: Admitted) -> None:
        for row, index in zip(admitted.rows.tolist(), admitted.sequence_indices, strict=True):
            self._ended_rows.discard(row)
            previous = self._sequence_on.pop(row, None)
            if previous is not None:
                # It was preempted: the row is another's now, its record is kept.
                self._leave(previous)
            sequence = (admitted.request.request_id, index)
            if sequence in self._row_of:
                self._leave(sequence)
            self._sequence_on[row] = sequence
            self._row_of[sequence] = row

    def _leave(self, sequence: Sequence) -> None:
        row = self._row_of.pop(sequence)
        self._sequence_on.pop(row, None)
        self._close_tenure(sequence, row)

    def _close_tenure(self, sequence: Sequence, row: int) -> None:
        granted_slots = int(self._granted_slots[row])
        if granted_slots:
            last_grant_s = self.elapsed_s - float(self._granted_at_s[row])
            tenure = _Tenure(float(self._unused_slot_s[row]), granted_slots, last_grant_s)
            self._earlier.setdefault(sequence, []).append(tenure)
        self._unused_slot_s[row] = 0.0
        self._granted_slots[row] = 0

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Split what the sequence held and did not use."""
        sequence = (finished.request.request_id, finished.sequence_index)
        if sequence in self._row_of:
            self._ended_rows.add(self._row_of[sequence])
            self._leave(sequence)
        final_tokens = len(finished.tokens) - 1
        for tenure in self._earlier.pop(sequence, []):
            internal = tenure.internal_slot_s(final_tokens)
            self._slot_s["internal"] += internal
            self._slot_s["reserved"] += tenure.unused_slot_s - internal
            self._slot_s["granted_unused"] -= tenure.unused_slot_s
