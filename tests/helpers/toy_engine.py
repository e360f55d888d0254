"""The real engine on the toy model, with every promise checked at every step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from paged.allocator.paged import PagedAllocator
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.allocator.usage import SlotUsage
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.request import FinishReason, Request
from paged.scheduler.scheduler import Scheduler
from tests.helpers.released import check_released
from tests.helpers.toy_model import Language, ToyExecutor, ToyPool, values_of

# Blocks are equal only where a test makes them so, and sequences run to their limits.
PLAIN_LANGUAGE = Language(num_kinds=10_000, stop_every=None)
_DEFAULTS = {"block_size": 4, "max_model_len": 64, "watermark": 0.0, "max_num_seqs": 8}


def make_toy_engine(language: Language = PLAIN_LANGUAGE, **values: Any) -> ToyEngine:
    """Make a small engine; it takes the fields of both configurations."""
    values = _DEFAULTS | {"max_num_batched_tokens": None} | values
    names = {field.name for field in fields(CacheConfig)}
    cache = {name: value for name, value in values.items() if name in names}
    others = {name: value for name, value in values.items() if name not in names}
    return ToyEngine(CacheConfig(**cache), SchedulerConfig(**others), language)


class ToyEngine:
    """Engine, toy pool and oracle; also the observer that checks each step.

    finished: sequences by request id and index.
    batches: what each step did.
    between: called with every batch after it has run and before the scheduler knows.
    """

    def __init__(
        self, cache: CacheConfig, scheduler: SchedulerConfig, language: Language | None = None
    ) -> None:
        self.cache = cache
        self.language = language or Language()
        allocator = make_allocator(cache, max_rows=scheduler.max_num_seqs)
        self.scheduler = Scheduler(scheduler, allocator, max_model_len=cache.max_model_len)
        self.pool = ToyPool(
            num_blocks=cache.num_blocks,
            block_size=cache.block_size,
            num_host_blocks=cache.num_host_blocks,
        )
        self.executor = ToyExecutor(self.pool, self.language)
        self.engine = Engine(
            self.scheduler, self.executor, VirtualClock(), [self], on_failure=self._fail
        )
        self.num_failures = 0
        self.finished: dict[tuple[str, int], Finished] = {}
        self.batches: list[Batch] = []
        self.between: Callable[[Batch], None] | None = None
        self._sequence_of_row: dict[int, tuple[Request, int]] = {}
        # A request id may be used again; the requests are kept, so their ids are unique.
        self._ended: dict[tuple[int, int], Finished] = {}

    def request(self, request_id: str, prompt: list[int], num_new: int = 4, **others) -> Request:
        """Make a request whose true output length is known to oracles."""
        request = Request(
            request_id=request_id,
            prompt_tokens=np.array(prompt, np.int32),
            max_new_tokens=num_new,
            **others,
        )
        if not ALLOCATORS[self.cache.allocator].needs_future:
            return request
        ends = [len(self.expected(request, i)[0]) for i in range(request.num_sequences)]
        return Request(
            request_id=request_id,
            prompt_tokens=request.prompt_tokens,
            max_new_tokens=num_new,
            final_new_tokens=max(ends) - len(prompt),
            **others,
        )

    def add(self, request_id: str, prompt: list[int], num_new: int = 4, **others) -> Request:
        """Queue a request. Raises RequestRefused."""
        request = self.request(request_id, prompt, num_new, **others)
        self.engine.add_request(request)
        return request

    def expected(self, request: Request, sequence_index: int) -> tuple[list[int], bool]:
        """Say what a sequence comes to when nothing disturbs it."""
        return self.language.generate(request, sequence_index, self.cache.max_model_len)

    def step(self) -> list[Finished]:
        """Run one step and check what it did."""
        finished = self.engine.step()
        self.scheduler.check_integrity()
        for sequence in finished:
            if self._ended_at_pool_limit(sequence):
                num_wanted = self._num_blocks_wanted(sequence.request, finished)
                assert num_wanted > self.cache.num_blocks, "ended too early"
        return finished

    def fail_step(self) -> list[Finished]:
        """Run one step whose execution fails, if it executes anything."""
        self.executor.is_broken = True
        num_failures = self.num_failures
        finished = self.step()
        self.executor.is_broken = False
        assert self.num_failures <= num_failures + 1
        is_failed = any(sequence.reason is FinishReason.ERROR for sequence in finished)
        assert not is_failed or self.num_failures > num_failures
        return finished

    def run(self, max_steps: int = 2_000) -> dict[tuple[str, int], Finished]:
        """Step until all is done, and check that all memory came back."""
        num_idle_steps = 0
        while self.engine.has_work:
            max_steps -= 1
            assert max_steps, "no end in sight"
            num_batches = len(self.batches)
            is_idle = not self.step() and len(self.batches) == num_batches
            num_idle_steps = num_idle_steps + 1 if is_idle else 0
            assert num_idle_steps < 3, "steps that do nothing"
        self.check_empty()
        return self.finished

    def check_empty(self) -> None:
        """Assert that no request holds anything."""
        check_released(self.scheduler.allocator)
        counts = (self.scheduler.num_running, self.scheduler.num_waiting)
        assert (*counts, self.scheduler.num_swapped) == (0, 0, 0)

    def tokens(self, request_id: str, sequence_index: int = 0) -> list[int]:
        """All tokens of a finished sequence."""
        return self.finished[request_id, sequence_index].tokens.tolist()

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Check contents and slot classes, then let `between` interfere."""
        self.batches.append(batch)
        budget = scheduler.config.max_num_batched_tokens
        assert budget is None or batch.num_tokens <= budget
        for admitted in batch.admitted:
            for row, index in zip(admitted.rows.tolist(), admitted.sequence_indices, strict=True):
                self._sequence_of_row[row] = (admitted.request, index)
        rows = scheduler.allocator.tables.live_rows().tolist()
        columns = {row: self._resident_columns(row) for row in rows}
        # What a static batch holds for sequences that have ended, nobody reads again.
        for row in set(rows) - set(scheduler._core.held_rows):
            num_tokens = int(batch.tables.num_tokens[row])
            if len(columns[row]) == int(batch.tables.num_blocks[row]):
                wanted = values_of(batch.tokens[row, :num_tokens].tolist())
                assert self.pool.read(batch.tables.ids[row], num_tokens) == wanted
        self._check_usage(columns)
        if self.between is not None:
            self.between(batch)

    def _fail(self, error: Exception) -> None:
        assert isinstance(error, ArithmeticError)
        self.num_failures += 1

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Keep a sequence; each ends once."""
        key = (id(finished.request), finished.sequence_index)
        assert key not in self._ended, "a sequence ended twice"
        self._ended[key] = finished
        self.finished[finished.request.request_id, finished.sequence_index] = finished

    def _ended_at_pool_limit(self, sequence: Finished) -> bool:
        """Check the tokens of an ended sequence; say whether memory ended it."""
        expected, is_stopped = self.expected(sequence.request, sequence.sequence_index)
        tokens = sequence.tokens.tolist()
        assert tokens == expected[: len(tokens)]
        assert len(tokens) >= sequence.request.num_prompt_tokens
        if sequence.reason is FinishReason.STOP:
            assert is_stopped
            assert tokens == expected
        return sequence.reason is FinishReason.LENGTH and tokens != expected

    def _num_blocks_wanted(self, request: Request, finished: list[Finished]) -> int:
        """Blocks needed to go on with all sequences of a request that share its prompt only."""
        rows = self.scheduler._core.rows
        lengths = [len(sequence.tokens) for sequence in finished if sequence.request is request]
        lengths += [
            int(rows.num_tokens[row])
            for row, owner in enumerate(rows.owner)
            if owner is not None and owner.request is request
        ]
        size = self.cache.block_size
        if self.cache.allocator == "virtual":
            per_page = self.cache.blocks_per_page
            whole_pages = self.cache.num_blocks // per_page
            wanted = sum(math.ceil(length / (size * per_page)) for length in lengths)
            return self.cache.num_blocks + 1 if wanted > whole_pages else 0
        num_shared = request.num_prompt_tokens // size
        return num_shared + sum(math.ceil(length / size) - num_shared for length in lengths)

    def _resident_columns(self, row: int) -> list[int]:
        allocator = self.scheduler.allocator
        if isinstance(allocator, PagedAllocator):
            return np.flatnonzero(allocator.swap.resident(row)).tolist()
        return list(range(int(allocator.tables.num_blocks[row])))

    def _check_usage(self, columns: dict[int, list[int]]) -> None:
        tables = self.scheduler.allocator.tables
        final = np.zeros(tables.max_rows, np.int64)
        for row in columns:
            final[row] = len(self.expected(*self._sequence_of_row[row])[0]) - 1
        used: set[tuple[int, int]] = set()
        to_come: set[tuple[int, int]] = set()
        granted: set[int] = set()
        for row, places in columns.items():
            for column in places:
                block, first = int(tables.ids[row, column]), column * self.cache.block_size
                granted.add(block)
                slots = [(block, i) for i in range(self.cache.block_size)]
                used.update(slots[: max(0, int(tables.num_tokens[row]) - first)])
                to_come.update(slots[: max(0, int(final[row]) - first)])
        known = self.scheduler.allocator.usage(final)
        serving = self.scheduler.allocator.usage(None)
        assert known.token == serving.token == len(used)
        assert known.reserved == len(to_come - used)
        num_granted = len(granted) * self.cache.block_size
        if self.cache.allocator != "virtual":
            assert known.internal == num_granted - len(to_come | used)
        _check_same_but_unused(known, serving)


def _check_same_but_unused(known: SlotUsage, serving: SlotUsage) -> None:
    assert known.granted_unused == serving.reserved == serving.internal == 0
    assert known.reserved + known.internal == serving.granted_unused
    for name in ("rounding", "cached_free", "free"):
        assert getattr(known, name) == getattr(serving, name)
