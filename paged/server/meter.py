"""What an engine did, counted step by step: the numbers behind `/metrics`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from paged.allocator.base import BlockMoves
from paged.scheduler.batch import Admitted, Batch, Finished, StepResult
from paged.scheduler.request import FinishReason, Request
from paged.scheduler.scheduler import Scheduler
from paged.server.histogram import SECONDS, TOKENS, Histogram, HistogramState
from paged.types import BoolArray, IndexArray

FloatArray = npt.NDArray[np.float64]

_NUM_COPIES = 64


@dataclass(slots=True, kw_only=True)
class Counts:
    """Totals since the engine started.

    prefix_queries, prefix_hits: prompt tokens looked up in the prefix cache, and found.
    copied_blocks: by copy-on-write, those of prompts that are cached whole included.
    recomputed_tokens: whose K and V a preemption threw away.
    """

    steps: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    preemptions: int = 0
    recomputed_tokens: int = 0
    copied_blocks: int = 0
    swapped_out_blocks: int = 0
    swapped_in_blocks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A block that a step copied because it was shared. group: KV group; None in all."""

    step: int
    group: int | None
    src: int
    dst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a meter knows at one moment.

    finished: sequences that ended, by reason. copies: the latest few, oldest first.
    histograms: by the names of `StepMeter.histograms`.
    """

    counts: Counts
    finished: dict[str, int]
    histograms: dict[str, HistogramState]
    copies: tuple[Copy, ...]


@dataclass(slots=True, eq=False)
class _Life:
    """One request from its first admission on. last_token_s: while it is on no row."""

    request: Request
    admitted_s: float
    num_left: int
    rows: list[int] = field(default_factory=list[int])
    first_token_s: float | None = None
    last_token_s: float = np.nan


class StepMeter:
    """Observer that counts tokens, latencies and moves of blocks. Times are the engine's.

    A token's time is the end of the step that drew it. Requests that were given up or that
    failed have no latencies.
    """

    def __init__(self, max_rows: int, *, has_prefix_cache: bool) -> None:
        self.counts = Counts()
        self._has_prefix_cache = has_prefix_cache
        self.histograms = {
            "time_to_first_token_s": Histogram(SECONDS),
            "inter_token_latency_s": Histogram(SECONDS),
            "queue_time_s": Histogram(SECONDS),
            "prefill_time_s": Histogram(SECONDS),
            "decode_time_s": Histogram(SECONDS),
            "inference_time_s": Histogram(SECONDS),
            "e2e_latency_s": Histogram(SECONDS),
            "step_s": Histogram(SECONDS),
            "step_tokens": Histogram(TOKENS),
            "prompt_tokens": Histogram(TOKENS),
            "generation_tokens": Histogram(TOKENS),
        }
        self._finished = {reason.value: 0 for reason in FinishReason}
        self._copies: deque[Copy] = deque(maxlen=_NUM_COPIES)
        self._lives: dict[str, _Life] = {}
        self._life_on: list[_Life | None] = [None] * max_rows
        # NaN on rows whose sequence has drawn nothing yet.
        self._last_token_s: FloatArray = np.full(max_rows, np.nan)

    def measured(self) -> Measured:
        """Copy all that is known now."""
        return Measured(
            counts=replace(self.counts),
            finished=dict(self._finished),
            histograms={name: each.state() for name, each in self.histograms.items()},
            copies=tuple(self._copies),
        )

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Count one step."""
        now_s = start_s + result.duration_s
        for admitted in batch.admitted:
            self._admit(admitted, start_s)
        self._count(batch)
        self.histograms["step_s"].add(result.duration_s)
        self.histograms["step_tokens"].add(batch.num_tokens)
        if batch.num_drawn:
            self._draw(batch.rows[batch.num_samples > 0], now_s)

    def _count(self, batch: Batch) -> None:
        counts = self.counts
        counts.steps += 1
        counts.generation_tokens += batch.num_drawn
        counts.preemptions += batch.num_preempted
        counts.recomputed_tokens += batch.num_recomputed_tokens
        counts.swapped_out_blocks += len(batch.swap_out)
        counts.swapped_in_blocks += len(batch.swap_in)
        if len(batch.copies):
            counts.copied_blocks += len(batch.copies)
            self._copies.extend(_copies_of(batch.copies, batch.step))

    def _admit(self, admitted: Admitted, now_s: float) -> None:
        request = admitted.request
        life = self._lives.get(request.request_id)
        if life is None:
            life = _Life(request, now_s, len(admitted.sequence_indices))
            self._lives[request.request_id] = life
            self.histograms["queue_time_s"].add(max(0.0, now_s - request.arrival_s))
            if self._has_prefix_cache:
                self.counts.prefix_queries += request.num_prompt_tokens
            self.counts.prefix_hits += admitted.num_cached_tokens
        self._leave(life)
        life.rows = admitted.rows.tolist()
        for row in life.rows:
            other = self._life_on[row]
            if other is not None:
                self._leave(other)
            self._life_on[row] = life
        self._last_token_s[admitted.rows] = life.last_token_s

    def _leave(self, life: _Life) -> None:
        """Take a request off the rows that are still known as its own."""
        for row in life.rows:
            if self._life_on[row] is life:
                life.last_token_s = float(self._last_token_s[row])
                self._life_on[row] = None

    def _draw(self, rows: IndexArray, now_s: float) -> None:
        last_s = self._last_token_s[rows]
        is_first: BoolArray = np.isnan(last_s)
        if is_first.any():
            for row in rows[is_first].tolist():
                self._draw_first(row, now_s)
            last_s = last_s[~is_first]
        self.histograms["inter_token_latency_s"].add(*(now_s - last_s).tolist())
        self._last_token_s[rows] = now_s

    def _draw_first(self, row: int, now_s: float) -> None:
        life = self._life_on[row]
        if life is None or life.first_token_s is not None:
            return
        life.first_token_s = now_s
        self._last_token_s[life.rows] = now_s
        self.counts.prompt_tokens += life.request.num_prompt_tokens
        self.histograms["prefill_time_s"].add(now_s - life.admitted_s)
        waited_s = max(0.0, now_s - life.request.arrival_s)
        self.histograms["time_to_first_token_s"].add(waited_s)

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Count the end of a sequence, and of its request with the last of them."""
        self._finished[finished.reason.value] += 1
        life = self._lives.get(finished.request.request_id)
        if life is None or life.request is not finished.request:
            return
        life.num_left -= 1
        if life.num_left <= 0:
            self._leave(life)
            del self._lives[finished.request.request_id]
        if finished.reason in (FinishReason.ABORT, FinishReason.ERROR):
            return
        self.histograms["generation_tokens"].add(finished.num_new_tokens)
        if life.num_left <= 0:
            self._end(life, now_s)

    def _end(self, life: _Life, now_s: float) -> None:
        request = life.request
        self.histograms["prompt_tokens"].add(request.num_prompt_tokens)
        self.histograms["e2e_latency_s"].add(max(0.0, now_s - request.arrival_s))
        self.histograms["inference_time_s"].add(now_s - life.admitted_s)
        if life.first_token_s is not None:
            self.histograms["decode_time_s"].add(now_s - life.first_token_s)


def _copies_of(moves: BlockMoves, step: int) -> list[Copy]:
    src, dst = moves.src.tolist(), moves.dst.tolist()
    groups = [None] * len(src) if moves.group is None else moves.group.tolist()
    return [Copy(step=step, group=groups[i], src=src[i], dst=dst[i]) for i in range(len(src))]
