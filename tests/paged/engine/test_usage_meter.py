"""The live meter must agree with what an omniscient observer integrates."""

from __future__ import annotations

import numpy as np
import pytest

from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine
from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import AffineStepTime
from paged.engine.usage_meter import UsageMeter
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.request import Request, length_only_prompt
from paged.scheduler.scheduler import Scheduler

MAX_ROWS = 16
MAX_MODEL_LEN = 64


class Omniscient:
    """Integrates usage with the final lengths that only a simulation knows."""

    def __init__(self) -> None:
        self.final_tokens = np.zeros(MAX_ROWS, np.int64)
        self.slot_s: dict[str, float] = {}

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Add one step."""
        for admitted in batch.admitted:
            request = admitted.request
            assert request.final_new_tokens is not None
            final = request.num_prompt_tokens + request.final_new_tokens - 1
            self.final_tokens[admitted.rows] = final
        for name, slots in scheduler.allocator.usage(self.final_tokens).classes().items():
            self.slot_s[name] = self.slot_s.get(name, 0.0) + slots * result.duration_s

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Ignore it."""


@pytest.mark.parametrize("seed", [7, 8, 9])
@pytest.mark.parametrize("preemption", ["recompute", "swap"])
@pytest.mark.parametrize("name", [name for name in ALLOCATORS if name != "static"])
def test_shares_after_the_fact_equal_the_omniscient_ones(
    name: str, preemption: str, seed: int
) -> None:
    cache = CacheConfig(
        num_blocks=40,
        block_size=4,
        max_model_len=MAX_MODEL_LEN,
        allocator=name,
        watermark=0.0,
        num_host_blocks=20,
    )
    allocator = make_allocator(cache, max_rows=MAX_ROWS)
    config = SchedulerConfig(
        max_num_seqs=MAX_ROWS, max_num_batched_tokens=24, preemption=preemption
    )
    scheduler = Scheduler(config, allocator, max_model_len=MAX_MODEL_LEN)
    step_time = AffineStepTime(base_s=0.5, context_s_per_token=0.01, scheduled_s_per_token=0.1)
    meter, omniscient = UsageMeter(MAX_ROWS), Omniscient()
    sampled = UsageMeter(MAX_ROWS, sample_every=16)
    executor = SimulatedExecutor(step_time, MAX_ROWS)
    engine = Engine(scheduler, executor, VirtualClock(), [meter, sampled, omniscient])
    rng = np.random.default_rng(seed)
    for i in range(60):
        prompt, output = int(rng.integers(1, 30)), int(rng.integers(1, 30))
        request = Request(
            request_id=str(i),
            prompt_tokens=length_only_prompt(prompt),
            max_new_tokens=MAX_MODEL_LEN - prompt,
            final_new_tokens=output,
        )
        engine.add_request(request)
    num_preemptions = 0
    while engine.has_work:
        num_preemptions += sum(finished.num_preemptions for finished in engine.step())
    total = sum(omniscient.slot_s.values())
    expected = {key: value / total for key, value in omniscient.slot_s.items()}
    assert meter.shares() == pytest.approx(expected, abs=1e-9)
    assert meter.elapsed_s == pytest.approx(engine.now_s)
    assert _with_free_as_one(sampled.shares()) == pytest.approx(
        _with_free_as_one(expected), abs=0.02
    )
    ended = sampled.slot_seconds()
    assert ended["granted_unused"] == pytest.approx(0.0, abs=1e-6 * total)
    for kind in ("reserved", "internal"):
        assert ended[kind] == pytest.approx(omniscient.slot_s[kind], abs=1e-6 * total)
    assert sum(sampled.slot_seconds().values()) == pytest.approx(total)
    assert expected["internal"] > 0.0
    assert (num_preemptions > 0) == (name in ("paged", "virtual"))


def _with_free_as_one(shares: dict[str, float]) -> dict[str, float]:
    """Add what is cached to what is free: between samples nobody asks which it is."""
    others = {name: share for name, share in shares.items() if name != "cached_free"}
    return others | {"free": shares["free"] + shares["cached_free"]}


def test_what_a_static_batch_keeps_for_ended_sequences_is_internal() -> None:
    cache = CacheConfig(num_blocks=32, block_size=4, max_model_len=64, allocator="static")
    allocator = make_allocator(cache, max_rows=2)
    config = SchedulerConfig(max_num_seqs=2, batching="static")
    scheduler = Scheduler(config, allocator, max_model_len=64)
    step_time = AffineStepTime(base_s=1.0, context_s_per_token=0.0, scheduled_s_per_token=0.0)
    meter = UsageMeter(2)
    engine = Engine(scheduler, SimulatedExecutor(step_time, 2), VirtualClock(), [meter])
    for name, num_new_tokens in (("short", 1), ("long", 3)):
        engine.add_request(
            Request(
                request_id=name,
                prompt_tokens=length_only_prompt(10),
                max_new_tokens=num_new_tokens,
            )
        )
    while engine.has_work:
        engine.step()
    # Of 2 x 64 slots over 3 s: short fills 10 for 1 s; long 10, 11, 12 of 12 in the end.
    slot_s = {name: share * 128 * 3 for name, share in meter.shares().items()}
    assert slot_s["token"] == pytest.approx(10 + 10 + 11 + 12)
    assert slot_s["reserved"] == pytest.approx(2 + 1)
    assert slot_s["internal"] == pytest.approx(54 + 2 * 64 + 3 * 52)
    assert slot_s["granted_unused"] == pytest.approx(0.0)


@pytest.mark.parametrize("sample_every", [1, 16])
def test_all_that_forks_left_unused_is_split_when_they_end(sample_every: int) -> None:
    cache = CacheConfig(num_blocks=32, block_size=4, max_model_len=64, allocator="paged")
    allocator = make_allocator(cache, max_rows=8)
    # One token a step: forks wait for their turn, and share a part-filled block meanwhile.
    config = SchedulerConfig(max_num_seqs=8, max_num_batched_tokens=1)
    scheduler = Scheduler(config, allocator, max_model_len=64)
    step_time = AffineStepTime(base_s=1.0, context_s_per_token=0.0, scheduled_s_per_token=0.0)
    meter = UsageMeter(8, sample_every=sample_every)
    engine = Engine(scheduler, SimulatedExecutor(step_time, 8), VirtualClock(), [meter])
    for num_sequences in (1, 2, 3):
        request = Request(
            request_id=str(num_sequences),
            prompt_tokens=length_only_prompt(6),
            max_new_tokens=num_sequences + 6,
            num_sequences=num_sequences,
        )
        engine.add_request(request)
    most_unused = 0.0
    while engine.has_work:
        engine.step()
        most_unused = max(most_unused, meter.slot_seconds()["granted_unused"])
    assert most_unused > 0.0
    slot_s = meter.slot_seconds()
    assert slot_s["granted_unused"] == pytest.approx(0.0, abs=1e-9)
    assert slot_s["reserved"] > 0.0
    assert slot_s["internal"] > 0.0


def test_nothing_measured_gives_no_shares() -> None:
    assert UsageMeter(4).shares() == {}
