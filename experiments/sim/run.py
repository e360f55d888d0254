"""Run the production engine on a workload under simulated time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from experiments.sim.record import RunRecord
from experiments.sim.recorder import Recorder
from experiments.sim.setup import Setup, Trial
from experiments.workload import Workload, make_arrivals
from paged.allocator.registry import make_allocator
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine, Observer
from paged.engine.simulated import SimulatedExecutor
from paged.errors import check
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler


def simulate(
    workload: Workload, setup: Setup, trial: Trial, *, observers: Sequence[Observer] = ()
) -> RunRecord:
    """Serve every request of a workload with one allocator and record each step.

    observers: also see the steps.
    Raises: RequestRefused for a request that can never fit; WorkloadError for arrivals
        that the workload cannot give.
    """
    arrivals_s = make_arrivals(
        setup.arrivals, workload, seed=trial.seed, rate_per_s=setup.rate_per_s
    )
    requests = workload.requests(setup.max_model_len, arrivals=arrivals_s)
    return simulate_requests(requests, setup, trial, observers=observers)


def simulate_requests(
    requests: Iterable[Request], setup: Setup, trial: Trial, *, observers: Sequence[Observer] = ()
) -> RunRecord:
    """Serve requests, given in order of arrival, and record each step."""
    allocator = make_allocator(setup.cache_config(trial), max_rows=setup.max_num_seqs)
    config = setup.scheduler_config(trial)
    scheduler = Scheduler(config, allocator, max_model_len=setup.max_model_len)
    executor = SimulatedExecutor(setup.step_time(), setup.max_num_seqs)
    clock = VirtualClock()
    recorder = Recorder(allocator, is_static=config.batching == "static")
    engine = Engine(scheduler, executor, clock, (recorder, *observers))
    _drive(engine, clock, recorder, deque(requests))
    return recorder.finish()


def _drive(
    engine: Engine, clock: VirtualClock, recorder: Recorder, arriving: deque[Request]
) -> None:
    """Step until all requests are served, jumping over stretches without any."""
    while arriving or engine.has_work:
        while arriving and arriving[0].arrival_s <= clock.now_s:
            engine.add_request(arriving.popleft())
        if engine.has_work:
            num_steps = recorder.num_steps
            engine.step()
            check(recorder.num_steps > num_steps, "the scheduler has work but ran nothing")
        else:
            start_s = clock.now_s
            clock.advance_to(arriving[0].arrival_s)
            recorder.on_idle(start_s=start_s, duration_s=clock.now_s - start_s)
