"""Runs of the engine on known lengths, and all that their batches say, copied out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from paged.allocator.registry import make_allocator
from paged.config import CacheConfig, GroupConfig, SchedulerConfig
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine, Observer
from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import AffineStepTime
from paged.recording.recorder import recording_to
from paged.recording.recording import open_recording
from paged.recording.schedule_state import held_columns
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler

STEP_TIME = AffineStepTime(base_s=0.01, context_s_per_token=1e-6, scheduled_s_per_token=1e-5)
MAX_ROWS = 6
MAX_MODEL_LEN = 60
BLOCK_SIZE = 4
GROUPS = (
    GroupConfig(num_blocks=20, num_host_blocks=8),
    GroupConfig(num_blocks=20, num_host_blocks=8, window=8),
)


def contents(batch: Batch) -> dict[str, Any]:
    """Copy what a batch says, tables, tokens and requests too; equal batches give equal ones."""
    rows = batch.rows
    flat = batch.flatten()
    tables = [
        (
            each.num_blocks[rows].tolist(),
            each.first_block[rows].tolist(),
            each.num_tokens[rows].tolist(),
            np.where(
                mask := held_columns(each, rows), each.ids[rows, : mask.shape[1]], -1
            ).tolist(),
        )
        for each in batch.group_tables
    ]
    moves = [
        [None if array is None else array.tolist() for array in (m.src, m.dst, m.group)]
        for m in (batch.swap_out, batch.swap_in, batch.copies)
    ]
    counts = (batch.num_preempted, batch.num_recomputed_tokens, batch.num_waiting, batch.blocked)
    return {
        "step": batch.step,
        "rows": rows.tolist(),
        "num_computed": batch.num_computed.tolist(),
        "num_scheduled": batch.num_scheduled.tolist(),
        "num_samples": (batch.num_samples.tolist(), batch.num_drawn),
        "tables": tables,
        "tokens": flat.tokens.tolist(),
        "slots": [each.tolist() for each in flat.slot_mappings],
        "moves": moves,
        "counts": counts,
        "admitted": [_admitted(each) for each in batch.admitted],
    }


def _admitted(admitted: Any) -> tuple[Any, ...]:
    request = {**asdict(admitted.request), "sampling": None}
    prompt = request.pop("prompt_tokens").tolist()
    rows = (admitted.rows.tolist(), admitted.sequence_indices)
    return request, prompt, rows, admitted.num_cached_tokens, admitted.is_resumed


class Copier:
    """Observer that keeps times and contents of steps."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, float, dict[str, Any]]] = []

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        self.steps.append((start_s, result.duration_s, contents(batch)))

    def on_finished(self, finished: Finished, *, now_s: float) -> None: ...


def make_engine(
    *observers: Observer, preemption: str = "recompute", budget: int | None = 16, **cache: Any
) -> Engine:
    """Make an engine of a small pool; cache: fields of `CacheConfig`."""
    options: dict[str, Any] = {"num_blocks": 24, "num_host_blocks": 8 * (preemption == "swap")}
    options |= {"block_size": BLOCK_SIZE, "max_model_len": MAX_MODEL_LEN, "watermark": 0.0}
    config = CacheConfig(**options | cache)
    limits = SchedulerConfig(
        max_num_seqs=MAX_ROWS, max_num_batched_tokens=budget, preemption=preemption
    )
    scheduler = Scheduler(
        limits, make_allocator(config, max_rows=MAX_ROWS), max_model_len=MAX_MODEL_LEN
    )
    executor = SimulatedExecutor(STEP_TIME, MAX_ROWS)
    return Engine(scheduler, executor, VirtualClock(), observers)


def random_requests(seed: int, num_requests: int) -> list[Request]:
    """Draw requests, some of them alike at their beginning, some of several sequences."""
    source = np.random.default_rng(seed)
    start = source.integers(0, 50_000, 12, np.int32)
    requests: list[Request] = []
    for number in range(num_requests):
        rest = source.integers(0, 50_000, source.integers(1, 14), np.int32)
        num_new = int(source.integers(1, 18))
        requests.append(
            Request(
                request_id=f"request-{number}",
                prompt_tokens=np.concatenate([start, rest]) if number % 2 else rest,
                max_new_tokens=num_new + 2,
                final_new_tokens=num_new if number % 3 else None,
                arrival_s=float(source.random()),
                num_sequences=(1, 1, 2, 3)[number % 4],
                priority=number % 2,
            )
        )
    return requests


def record(path: Path, requests: list[Request], **options: Any) -> Copier:
    """Serve requests, recorded to a file; return what their batches said."""
    copier = Copier()
    with recording_to(path) as recorder:
        engine = make_engine(copier, recorder, **options)
        for request in requests:
            engine.add_request(request)
        while engine.has_work:
            engine.step()
    return copier


def record_grouped(path: Path) -> Path:
    """Record a run with two KV groups, forks, swaps and chunks; return its path."""
    options = {"preemption": "swap", "num_blocks": 40, "num_host_blocks": 16}
    record(path, random_requests(4, 16), groups=GROUPS, **options)
    return path


def recorded_batches(path: Path) -> Iterator[Batch]:
    """Yield the batches of a recording, each of which holds until the next is asked for."""
    with open_recording(path) as recording:
        yield from (step.batch for step in recording.steps())
