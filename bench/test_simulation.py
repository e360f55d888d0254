"""Simulated requests per second: the whole engine loop under virtual time."""

from __future__ import annotations

from time import perf_counter

from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import Comparison, Contestant, Rival, race, significant
from bench.load import BLOCK_SIZE, MAX_MODEL_LEN, SaturatedLoad
from bench.peer import Peer
from bench.report import Collected
from bench.yardsticks import simulate_naively
from paged.allocator.registry import make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine
from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import AffineStepTime
from paged.scheduler.request import Request, length_only_prompt
from paged.scheduler.scheduler import Scheduler

LOAD = SaturatedLoad(num_requests=200)
NUM_CHUNKS = 3


def test_simulated_requests(
    benchmark: BenchmarkFixture, peer: Peer | None, collected: Collected
) -> None:
    assert simulate(LOAD) == LOAD.lengths()[1]
    rivals: dict[str, Rival] = {"yardstick": _naive_rounds}
    if peer is not None:
        rivals["vllm"] = _vllm_rounds(peer)
    raced = race(
        benchmark,
        Contestant(prepare=lambda: LOAD, run=simulate, work_per_round=LOAD.num_requests),
        rivals,
        num_chunks=NUM_CHUNKS,
        rounds_per_chunk=1,
    )
    if raced is not None:
        ours, rival_times = raced
        rates = {
            f"{name}_requests_per_s": significant(1e6 / times.mean_us)
            for name, times in {"paged": ours, **rival_times}.items()
        }
        comparison = Comparison(
            unit="request", ours=ours, rivals=rival_times, notes={**rates, "load": str(LOAD)}
        )
        collected.keep(benchmark, comparison)


def simulate(load: SaturatedLoad) -> list[int]:
    """Run a load through the engine; return the output lengths, by request."""
    cache = CacheConfig(
        num_blocks=load.num_blocks, block_size=BLOCK_SIZE, max_model_len=MAX_MODEL_LEN
    )
    config = SchedulerConfig(max_num_seqs=load.max_running, max_num_batched_tokens=None)
    allocator = make_allocator(cache, max_rows=load.max_running)
    step_time = AffineStepTime(base_s=0.01, context_s_per_token=1e-7, scheduled_s_per_token=1e-5)
    engine = Engine(
        Scheduler(config, allocator, max_model_len=MAX_MODEL_LEN),
        SimulatedExecutor(step_time, max_rows=load.max_running),
        VirtualClock(),
    )
    for index, (prompt, output) in enumerate(zip(*load.lengths(), strict=True)):
        engine.add_request(
            Request(
                request_id=str(index),
                prompt_tokens=length_only_prompt(prompt),
                max_new_tokens=output,
                final_new_tokens=output,
            )
        )
    drawn = [0] * load.num_requests
    while engine.has_work:
        for finished in engine.step():
            drawn[int(finished.request.request_id)] = finished.num_new_tokens
    return drawn


def _naive_rounds(num_rounds: int) -> list[float]:
    rounds_us: list[float] = []
    for _ in range(num_rounds):
        started = perf_counter()
        simulate_naively(LOAD)
        rounds_us.append((perf_counter() - started) * 1e6)
    return rounds_us


def _vllm_rounds(peer: Peer) -> Rival:
    num_drawn = sum(LOAD.lengths()[1])

    def time_rounds(num_rounds: int) -> list[float]:
        answer = peer.ask("time_simulation", num_requests=LOAD.num_requests, num_rounds=num_rounds)
        # A preempted request computes tokens again, so its steps can only exceed its output.
        assert min(answer["num_drawn"]) >= num_drawn
        return answer["elapsed_us"]

    return time_rounds
