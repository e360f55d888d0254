"""Fit a step-time model to a measured run, and say how well its replay follows.

Only the first half of the ticks is fitted. The replay is the production engine,
scheduler and allocator in the set-up of the recorded vLLM.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from experiments.sim.measured_run import Column, MeasuredRun
from experiments.workload import WorkloadError
from paged.allocator.registry import make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine, Observer
from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import AffineStepTime, StepTime
from paged.hardware import GPUS
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.scheduler import Scheduler
from paged.shapes import MODELS

# The recorded vLLM: version 1 keeps no watermark and recomputes what it preempts.
CACHE = CacheConfig(
    num_blocks=2588,
    block_size=16,
    max_model_len=8192,
    watermark=0.0,
    enable_prefix_caching=True,
)
SCHEDULER = SchedulerConfig(max_num_seqs=256, max_num_batched_tokens=2048)
MODEL = MODELS["llama-3-8b"]  # 3.1 has the same shape
GPU = GPUS["rtx4090"]

NUM_FIT_ROUNDS = 3
_WINDOW_TICKS = 8  # evens out when, within a few seconds, the replay recomputes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """What the simulation shows at the ticks of a measured run, as far as it went.

    running, waiting, kv_pct, prompt_tokens, new_tokens [ticks]: as in MeasuredRun.
    computed_tokens[ticks]: since the tick before, recomputed ones included.
    first_token_s, finished_s [requests]: NaN for what did not happen.
    """

    running: Column
    waiting: Column
    kv_pct: Column
    prompt_tokens: Column
    new_tokens: Column
    computed_tokens: Column
    first_token_s: Column
    finished_s: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Distance of a replay from the measured run.

    running_mae, kv_mae_points: mean absolute error over the ticks that were not fitted,
        in requests and in % of the pool.
    mean_ttft_s, mean_latency_s: over all requests; _error_pct: against the measured.
    """

    running_mae: float
    kv_mae_points: float
    mean_ttft_s: float
    mean_latency_s: float
    ttft_error_pct: float
    latency_error_pct: float


class _Log:
    """Engine observer that keeps what the recorded server kept."""

    def __init__(self, run: MeasuredRun) -> None:
        self.first_token_s: Column = np.full(len(run.workload), np.nan)
        self.finished_s: Column = np.full(len(run.workload), np.nan)
        self._prompt_tokens = run.workload.prompt_tokens
        self._counts = (0, 0, 0)
        self._states: list[tuple[float, ...]] = [(-np.inf, 0, 0, 0, 0, 0, 0)]
        self._awaits_first_token: dict[int, int] = {}

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Note the state in which a step starts and what the step brings.

        The state is seen with the step planned already: vLLM 0.19 plans a step before it
        reports the one before.
        """
        self.record(start_s, scheduler)
        for admitted in batch.admitted:
            index, row = int(admitted.request.request_id), int(admitted.rows[0])
            # careful: the row may be that of a request preempted before its first token.
            self._awaits_first_token.pop(row, None)
            if np.isnan(self.first_token_s[index]):
                self._awaits_first_token[row] = index
        prompt, new, computed = self._counts
        prompt += self._note_first_tokens(batch, start_s + result.duration_s)
        self._counts = (prompt, new + len(result.tokens), computed + batch.num_tokens)

    def _note_first_tokens(self, batch: Batch, now_s: float) -> int:
        """Note who drew for the first time; return the length of their prompts."""
        num_prompt_tokens = 0
        if self._awaits_first_token:
            for row in batch.rows[batch.num_samples > 0].tolist():
                index = self._awaits_first_token.pop(row, None)
                if index is not None:
                    self.first_token_s[index] = now_s
                    num_prompt_tokens += int(self._prompt_tokens[index])
        return num_prompt_tokens

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Note the last token."""
        self.finished_s[int(finished.request.request_id)] = now_s

    def record(self, at_s: float, scheduler: Scheduler) -> None:
        """Note the queues, the % of blocks that are not free, and the counts so far."""
        usage = scheduler.allocator.usage(None)
        kv_pct = 100.0 * (1.0 - (usage.free + usage.cached_free) / usage.capacity)
        queues = (scheduler.num_running, scheduler.num_waiting)
        self._states.append((at_s, *queues, kv_pct, *self._counts))

    def at_ticks(self, tick_s: Column) -> Replay:
        """Look at the last state before each tick."""
        states = np.array(self._states).T
        latest = np.searchsorted(states[0], tick_s, side="right") - 1
        running, waiting, kv_pct, *counts = states[1:, latest]
        prompt, new, computed = (np.diff(count, prepend=0.0) for count in counts)
        return Replay(
            running=running,
            waiting=waiting,
            kv_pct=kv_pct,
            prompt_tokens=prompt,
            new_tokens=new,
            computed_tokens=computed,
            first_token_s=self.first_token_s,
            finished_s=self.finished_s,
        )


def replay(
    run: MeasuredRun,
    step_time: StepTime,
    *,
    until_s: float = np.inf,
    observers: Sequence[Observer] = (),
) -> Replay:
    """Serve the measured arrivals in simulated time, to the end or until until_s.

    observers: also see the steps.
    """
    allocator = make_allocator(CACHE, max_rows=SCHEDULER.max_num_seqs)
    scheduler = Scheduler(SCHEDULER, allocator, max_model_len=CACHE.max_model_len)
    clock = VirtualClock()
    log = _Log(run)
    executor = SimulatedExecutor(step_time, SCHEDULER.max_num_seqs)
    engine = Engine(scheduler, executor, clock, (log, *observers))
    arrivals = deque(
        run.workload.requests(CACHE.max_model_len, arrivals=run.arrival_s, use_prefix_ids=True)
    )
    while clock.now_s < until_s and (arrivals or engine.has_work):
        if not engine.has_work:
            log.record(clock.now_s, scheduler)
            clock.advance_to(arrivals[0].arrival_s)
        while arrivals and arrivals[0].arrival_s <= clock.now_s:
            engine.add_request(arrivals.popleft())
        engine.step()
    log.record(clock.now_s, scheduler)
    return log.at_ticks(run.tick_s)


def fit(
    run: MeasuredRun, *, on_round: Callable[[AffineStepTime], object] | None = None
) -> AffineStepTime:
    """Fit the costs to the first half of the run; on_round is told each estimate.

    Tokens computed again after a preemption, and those spared by the prefix cache, are
    not recorded. So least squares, which needs all tokens, takes turns with a replay
    of the first half, which counts these.
    Raises: WorkloadError if nothing runs at some tick of the first half.
    """
    if not bool((run.running[: run.num_fit_ticks] > 0).all()):
        raise WorkloadError(
            "expected requests running at every tick of the first half, got an idle one;"
            " calibrate on a run under load"
        )
    until_s = float(run.tick_s[run.num_fit_ticks - 1])
    estimate = _solve(run, np.zeros(run.num_fit_ticks))
    for _ in range(NUM_FIT_ROUNDS):
        if on_round is not None:
            on_round(estimate)
        guess = replay(run, estimate, until_s=until_s)
        unrecorded = guess.computed_tokens - guess.prompt_tokens - guess.new_tokens
        estimate = _solve(run, unrecorded[: run.num_fit_ticks])
    return estimate


def _solve(run: MeasuredRun, unrecorded_tokens: Column) -> AffineStepTime:
    """Find the costs that fill the windows of the first half with their steps.

    Seconds of a window = sum over its ticks of n * base + n * context * read +
    tokens * computed, where n = new tokens per running request is the number of steps.
    Nearly all of the first half the pool is full, so context is constant and the first
    two terms cannot be told apart: the cost of reading K and V is taken from the data
    sheet instead, as bytes over bandwidth.
    """
    half = slice(0, run.num_fit_ticks)
    num_steps = run.new_tokens[half] / _mean_over_tick(run.running[half])
    num_context = num_steps * _mean_over_tick(run.kv_pct[half]) / 100.0 * CACHE.capacity_slots
    num_tokens = run.new_tokens[half] + run.prompt_tokens[half] + unrecorded_tokens
    context_s = MODEL.kv_bytes_per_token / GPU.memory_bandwidth_bytes_per_s
    columns = np.stack([num_steps, num_tokens, 1.0 - context_s * num_context], axis=1)
    windows = np.add.reduceat(columns, np.arange(0, run.num_fit_ticks, _WINDOW_TICKS))
    base_s, scheduled_s = solve_non_negative(windows[:, :2], windows[:, 2]).tolist()
    return AffineStepTime(
        base_s=base_s, context_s_per_token=context_s, scheduled_s_per_token=scheduled_s
    )


def _mean_over_tick(state: Column) -> Column:
    """Average the state at each tick with that at the tick before; the run starts at 0."""
    return (state + np.concatenate([[0.0], state[:-1]])) / 2.0


def solve_non_negative(matrix: np.ndarray, target: Column) -> Column:
    """Find the least squares solution with x >= 0 by trying every set of columns.

    Shapes: matrix[rows, columns], target[rows] -> [columns]. O(2^columns).
    """
    num_columns = matrix.shape[1]
    best, best_error = np.zeros(num_columns), float(target @ target)
    for size in range(1, num_columns + 1):
        for columns in map(list, combinations(range(num_columns), size)):
            solution = np.zeros(num_columns)
            solution[columns] = np.linalg.lstsq(matrix[:, columns], target)[0]
            error = float(np.square(matrix @ solution - target).sum())
            if error < best_error and bool((solution >= 0.0).all()):
                best, best_error = solution, error
    return best


def score(run: MeasuredRun, simulated: Replay) -> Score:
    """Compare a whole replay with the run: states on the second half, times on all."""
    unseen = slice(run.num_fit_ticks, None)
    mean_ttft_s = float((simulated.first_token_s - run.arrival_s).mean())
    mean_latency_s = float((simulated.finished_s - run.arrival_s).mean())
    measured_ttft_s, measured_latency_s = mean_times(run)
    return Score(
        running_mae=float(np.abs(simulated.running - run.running)[unseen].mean()),
        kv_mae_points=float(np.abs(simulated.kv_pct - run.kv_pct)[unseen].mean()),
        mean_ttft_s=mean_ttft_s,
        mean_latency_s=mean_latency_s,
        ttft_error_pct=100.0 * (mean_ttft_s / measured_ttft_s - 1.0),
        latency_error_pct=100.0 * (mean_latency_s / measured_latency_s - 1.0),
    )


def mean_times(run: MeasuredRun) -> tuple[float, float]:
    """Mean time to first token and mean latency of the measured run, in seconds."""
    first_token_s = (run.first_token_s - run.arrival_s).mean()
    return float(first_token_s), float((run.finished_s - run.arrival_s).mean())
