"""Cost of one update() + schedule() at a constant batch, all bookkeeping included."""

from __future__ import annotations

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import Comparison, Contestant, Rival, race, significant
from bench.load import SteadyLoad
from bench.peer import Peer
from bench.report import Collected
from bench.steady import SteadyState
from bench.yardsticks import ArrayStep

NUM_CHUNKS = {1: 12, 64: 6, 256: 6, 1024: 6}
ROUNDS_PER_CHUNK = 100
# A lone request has to be replaced a few times before the pool is full of cached blocks.
NUM_WARMUP_STEPS = {1: 1210, 64: 310, 256: 310, 1024: 310}


def goal_us(num_running: int) -> float:
    """Goal of the project for the mean step."""
    return 60.0 + 0.25 * num_running


@pytest.mark.parametrize("num_running", [1, 64, 256, 1024])
def test_schedule_update(
    num_running: int, benchmark: BenchmarkFixture, peer: Peer | None, collected: Collected
) -> None:
    state = SteadyState(SteadyLoad(num_running=num_running))
    num_warmup_steps = NUM_WARMUP_STEPS[num_running]
    state.run(num_warmup_steps)
    state.check_evicting()
    rivals: dict[str, Rival] = {"yardstick": ArrayStep(num_running).time_rounds}
    arrivals_us: list[float] = []
    if peer is not None:
        opened = peer.ask("open_steady", num_running=num_running, num_warmup_steps=num_warmup_steps)
        assert opened["num_running"] == num_running
        rivals["vllm"] = _vllm_steps(peer, arrivals_us)
    state.arrival_us.clear()
    raced = race(
        benchmark,
        Contestant(prepare=state.prepare, run=state.advance),
        rivals,
        num_chunks=NUM_CHUNKS[num_running],
        rounds_per_chunk=ROUNDS_PER_CHUNK,
    )
    state.run(3)
    if raced is None:
        return
    notes = {"arrival_us": significant(float(np.mean(state.arrival_us)))}
    if arrivals_us:
        notes["vllm_arrival_us"] = significant(float(np.mean(arrivals_us)))
    ours, rival_times = raced
    comparison = Comparison(
        unit="step", ours=ours, rivals=rival_times, goal_us=goal_us(num_running), notes=notes
    )
    collected.keep(benchmark, comparison)


def _vllm_steps(peer: Peer, arrivals_us: list[float]) -> Rival:
    def time_rounds(num_rounds: int) -> list[float]:
        answer = peer.ask("time_steady", num_rounds=num_rounds)
        arrivals_us.extend(answer["arrival_us"])
        return answer["step_us"]

    return time_rounds
