"""Our scheduler at a constant batch, one step at a time."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from bench.load import BLOCK_SIZE, MAX_MODEL_LEN, VOCAB_SIZE, SteadyLoad
from paged.allocator.registry import make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.errors import check
from paged.scheduler.batch import StepResult
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler


class SteadyState:
    """A running batch of constant size, with the work of executor and users done outside.

    A step is cut at the executor: `prepare` makes its tokens and the arrivals, then
    `advance` is exactly one update() and one schedule(), and all that is to be timed.
    arrival_us[steps]: time of scheduler.add for the arrivals of each step.
    """

    def __init__(self, load: SteadyLoad) -> None:
        self.load = load
        self.arrival_us: list[float] = []
        self.num_finished = 0
        self._prompts = load.generator()
        self._tokens = np.random.default_rng(load.seed + 1)
        self._never_stopped = np.zeros(load.num_running, np.bool_)
        self._num_made = 0
        self._step = 0
        self.scheduler = _make_scheduler(load)
        for output_tokens in load.first_output_tokens():
            self.scheduler.add(self._make_request(output_tokens))
        self._batch = self.scheduler.schedule()

    def _make_request(self, output_tokens: int) -> Request:
        self._num_made += 1
        return Request(
            request_id=str(self._num_made),
            prompt_tokens=self.load.draw_prompt(self._prompts),
            max_new_tokens=output_tokens,
        )

    def prepare(self) -> StepResult:
        """Add the arrivals that the coming ends make room for; draw the step's tokens."""
        count = self.load.num_ending(self._step)
        arrivals = [self._make_request(self.load.output_tokens) for _ in range(count)]
        started = perf_counter()
        for request in arrivals:
            self.scheduler.add(request)
        self.arrival_us.append((perf_counter() - started) * 1e6)
        num_drawn = self._batch.num_seqs
        return StepResult(
            tokens=self._tokens.integers(0, VOCAB_SIZE, num_drawn, dtype=np.int32),
            is_stopped=self._never_stopped[:num_drawn],
            duration_s=0.0,
        )

    def advance(self, result: StepResult) -> None:
        """Take in what the step drew and schedule the next one."""
        self.num_finished += len(self.scheduler.update(self._batch, result))
        self._batch = self.scheduler.schedule()
        self._step += 1

    def run(self, num_steps: int) -> None:
        """Run checked steps: every sequence draws, the batch stays full, ends are on time.

        Raises IntegrityError at the first step that is not so.
        """
        for _ in range(num_steps):
            expected = self.num_finished + self.load.num_ending(self._step)
            self.advance(self.prepare())
            check(self.num_finished == expected, f"step {self._step}: an end is early or late")
            self.check_full()
        self.scheduler.check_integrity()

    def check_full(self) -> None:
        """Raise IntegrityError unless exactly the load's number of sequences runs."""
        check(
            self.scheduler.num_running == self._batch.num_seqs == self.load.num_running,
            f"step {self._step}: {self._batch.num_seqs} sequences scheduled,"
            f" {self.scheduler.num_running} running, expected {self.load.num_running}",
        )

    def check_evicting(self) -> None:
        """Raise IntegrityError unless a prefix cache fills what the batch leaves free.

        Blocks that cannot be cached, the part-filled tails of sequences that ended, are
        reused at once, so no more than a few per cent of the pool stay free.
        """
        usage = self.scheduler.allocator.usage(None)
        check(
            usage.cached_free > 0 and usage.free < 0.05 * usage.capacity,
            f"the pool is not under eviction: {usage}",
        )


def _make_scheduler(load: SteadyLoad) -> Scheduler:
    cache = CacheConfig(
        num_blocks=load.num_blocks,
        block_size=BLOCK_SIZE,
        max_model_len=MAX_MODEL_LEN,
        enable_prefix_caching=True,
    )
    config = SchedulerConfig(max_num_seqs=load.num_running, max_num_batched_tokens=None)
    allocator = make_allocator(cache, max_rows=load.num_running)
    return Scheduler(config, allocator, max_model_len=MAX_MODEL_LEN)
