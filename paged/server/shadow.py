"""Shadow allocators: what other policies would hold of the requests that run now.

Each shadow has a pool of its own, as large as the real one, and no memory behind it: it is
told of the same arrivals, tokens and ends, and keeps books.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from paged.allocator.base import Allocator, Demand
from paged.allocator.block_table import BlockTables
from paged.allocator.registry import make_allocator
from paged.config import CacheConfig
from paged.errors import OutOfBlocks
from paged.scheduler.batch import Admitted, Batch, Finished, StepResult
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler
from paged.types import BoolArray, IndexArray

SHADOWS = ("reserved-max", "reserved-pow2", "virtual")
"""Policies that can be shadowed. No server knows an output's length, so pow2 rounds its limit."""

# A sequence fills half a block in so many steps at most.
_STEPS_BETWEEN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowState:
    """What one policy would hold at one moment.

    classes: slots by class, as `SlotUsage.classes`; what is granted and not used yet will
        be used or is waste, and nobody knows yet which.
    num_held, num_waiting: requests that would have memory, and that would wait for it.
    num_refused: requests so far that could never fit.
    num_preempted: times so far that a request would have lost its memory.
    """

    name: str
    capacity: int
    classes: dict[str, int]
    num_held: int
    num_waiting: int
    num_refused: int
    num_preempted: int


@dataclass(slots=True, eq=False)
class Life:
    """A request from its first admission to its last end.

    indices: its sequences that have not ended. row_of: real rows of those that are on rows.
    """

    request: Request
    indices: list[int]
    row_of: dict[int, int] = field(default_factory=dict[int, int])


class Shadow:
    """One policy that follows the traffic of the real allocator, whose tables are given.

    Requests wait in order of arrival, and need what they hold when their turn comes. What
    the real allocator preempts is still held here.
    """

    def __init__(self, allocator: Allocator, tables: BlockTables, *, name: str) -> None:
        self.allocator = allocator
        self._tables = tables
        self._name = name
        # Rows here by sequence index, of the requests that have memory, in order of admission.
        self._held: dict[Life, dict[int, int]] = {}
        self._waiting: dict[Life, None] = {}
        # Rows here of sequences that have ended, given back all at once.
        self._ended: list[int] = []
        # Whether the first that waits does not fit, whatever is not given back first.
        self._is_full = False
        self._num_refused = 0
        self._num_preempted = 0
        # By real row: whether its sequence has memory here, and on which row.
        self._is_held: BoolArray = np.zeros(tables.max_rows, np.bool_)
        self._row_of: IndexArray = np.zeros(tables.max_rows, np.int64)

    def state(self) -> ShadowState:
        """Say what it holds now. Mutates: rows of sequences that have ended are given back."""
        self._give_back()
        return ShadowState(
            name=self._name,
            capacity=self.allocator.capacity_slots,
            classes=self.allocator.usage(None).classes(),
            num_held=len(self._held),
            num_waiting=len(self._waiting),
            num_refused=self._num_refused,
            num_preempted=self._num_preempted,
        )

    def start(self, life: Life) -> None:
        """Let a request that is new wait."""
        self._waiting[life] = None

    def place(self, life: Life) -> None:
        """Learn that a request is on other real rows than before."""
        rows = self._held.get(life, {})
        for index, real in life.row_of.items():
            self._is_held[real] = index in rows
            self._row_of[real] = rows.get(index, 0)

    def grow(self, rows: IndexArray) -> None:
        """Give real rows room for their tokens, then let in who waits and fits.

        Where there is no room, the latest that was let in waits again.
        """
        self._give_back()
        while not self._grow(rows):
            latest = next(reversed(self._held))
            self._drop(latest)
            self._num_preempted += 1
            self._waiting = {latest: None, **self._waiting}
        self._admit_all()

    def _admit_all(self) -> None:
        """Let in who waits and fits, in order."""
        rows: list[int] = []
        while self._waiting and not self._is_full:
            life = next(iter(self._waiting))
            self._is_full = not self._admit(life)
            if life in self._held:
                rows.extend(life.row_of.values())
        if rows:
            real = np.array(rows, np.int64)
            self.allocator.grow(self._row_of[real], self._tables.num_tokens[real])

    def _grow(self, rows: IndexArray) -> bool:
        real = rows[self._is_held[rows]]
        own = self._row_of[real]
        # A sequence that is computed again has all its tokens here still.
        wanted = np.maximum(self._tables.num_tokens[real], self.allocator.tables.num_tokens[own])
        try:
            self.allocator.grow(own, wanted)
        except OutOfBlocks:
            return False
        return True

    def _admit(self, life: Life) -> bool:
        """Let a waiting request in, or turn it away for good; say False if it must wait."""
        demand = self._demand(life)
        admission = self.allocator.admit(demand)
        if admission is None:
            if self.allocator.refusal(demand) is None:
                return False
            self._num_refused += 1
            del self._waiting[life]
            return True
        del self._waiting[life]
        self._held[life] = dict(zip(life.indices, admission.rows.tolist(), strict=True))
        self.place(life)
        return True

    def _demand(self, life: Life) -> Demand:
        request, tables = life.request, self._tables
        most = tables.max_blocks_per_row * tables.block_size
        used = max((tables.num_tokens.item(row) for row in life.row_of.values()), default=0)
        num_tokens = max(used, request.num_prompt_tokens)
        limit = min(request.num_prompt_tokens + request.max_new_tokens, most)
        return Demand(
            num_tokens=num_tokens,
            max_tokens=max(num_tokens, limit),
            num_sequences=len(life.indices),
        )

    def end(self, life: Life, index: int) -> None:
        """Take back what one sequence holds, which is still among those of its request."""
        if life in self._held:
            self._ended.append(self._take(life, index))
        elif len(life.indices) == 1:
            self._waiting.pop(life, None)
            self._is_full = False

    def _give_back(self) -> None:
        if self._ended:
            self.allocator.release(np.array(self._ended, np.int64))
            self._ended.clear()

    def _drop(self, life: Life) -> None:
        """Take back all that a request holds."""
        rows = [self._take(life, index) for index in life.indices]
        self.allocator.release(np.array(rows, np.int64))

    def _take(self, life: Life, index: int) -> int:
        """Forget that a sequence has memory; return its row, which is not given back yet."""
        rows = self._held[life]
        row = rows.pop(index)
        if index in life.row_of:
            self._is_held[life.row_of[index]] = False
        if not rows:
            del self._held[life]
        self._is_full = False
        return row


class Shadows:
    """Observer that tells shadow allocators what happens on real rows.

    They keep books every few steps and when asked: that takes each of them some numpy calls over
    its rows, however many requests have come and gone meanwhile.

    names: of the policies, in the order of `each`.
    """

    def __init__(
        self,
        tables: BlockTables,
        *,
        num_blocks: int,
        blocks_per_page: int,
        names: Sequence[str] = SHADOWS,
    ) -> None:
        self.each = tuple(
            Shadow(_make(name, tables, num_blocks, blocks_per_page), tables, name=name)
            for name in names
        )
        self._lives: dict[str, Life] = {}
        self._on: dict[int, tuple[Life, int]] = {}

    def states(self) -> tuple[ShadowState, ...]:
        """Say what each policy would hold now. Not during a step."""
        self._grow()
        return tuple(shadow.state() for shadow in self.each)

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Follow one step."""
        for admitted in batch.admitted:
            self._admit(admitted)
        if batch.step % _STEPS_BETWEEN == 0:
            self._grow()

    def _grow(self) -> None:
        rows = np.fromiter(self._on, np.int64, len(self._on))
        for shadow in self.each:
            shadow.grow(rows)

    def _admit(self, admitted: Admitted) -> None:
        request = admitted.request
        life = self._lives.get(request.request_id)
        is_new = life is None or life.request is not request
        if life is None or life.request is not request:
            life = self._lives[request.request_id] = Life(request, [*admitted.sequence_indices])
        for row, index in zip(admitted.rows.tolist(), admitted.sequence_indices, strict=True):
            self._leave(row)
            if index in life.row_of:
                self._leave(life.row_of[index])
            life.row_of[index] = row
            self._on[row] = (life, index)
        for shadow in self.each:
            if is_new:
                shadow.start(life)
            shadow.place(life)

    def _leave(self, row: int) -> None:
        """Forget which sequence is on a real row."""
        if row in self._on:
            life, index = self._on.pop(row)
            del life.row_of[index]

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Let a sequence end everywhere."""
        life = self._lives.get(finished.request.request_id)
        if life is None or life.request is not finished.request:
            return
        index = finished.sequence_index
        for shadow in self.each:
            shadow.end(life, index)
        if index in life.row_of:
            self._leave(life.row_of[index])
        life.indices.remove(index)
        if not life.indices:
            del self._lives[finished.request.request_id]


def _make(name: str, tables: BlockTables, num_blocks: int, blocks_per_page: int) -> Allocator:
    size = tables.block_size
    config = CacheConfig(
        num_blocks=num_blocks,
        block_size=size,
        max_model_len=tables.max_blocks_per_row * size,
        allocator=name,
        blocks_per_page=min(blocks_per_page, num_blocks),
    )
    return make_allocator(config, max_rows=tables.max_rows)
