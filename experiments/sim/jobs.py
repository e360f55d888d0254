"""Run many simulations on all cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from experiments.sim.record import Column
from experiments.sim.run import simulate
from experiments.sim.series import hole_histogram, thin
from experiments.sim.setup import Setup, Trial
from experiments.sim.summary import Measures, summarise
from experiments.workload import Workload
from paged.engine.chrome_trace import chrome_trace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """One run to make.

    keeps_series: also return its curves over time and its holes.
    schedule: file that its schedule is written to while it runs, if any.
    """

    trial: Trial
    setup: Setup
    workload: Workload
    keeps_series: bool
    schedule: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What came of a job. series and holes as in `experiments.sim.series`."""

    trial: Trial
    workload_name: str
    capacity_slots: int
    measures: Measures
    series: dict[str, Column] | None
    holes: tuple[tuple[int, int, float], ...]


def run_job(job: Job) -> Outcome:
    """Simulate and measure. Picklable, so that it runs in another process."""
    is_saturated = job.setup.is_saturated
    with nullcontext() if job.schedule is None else chrome_trace(job.schedule) as trace:
        record = simulate(job.workload, job.setup, job.trial, trace=trace)
    return Outcome(
        trial=job.trial,
        workload_name=job.workload.name,
        capacity_slots=record.capacity_slots,
        measures=summarise(record, is_saturated=is_saturated),
        series=thin(record) if job.keeps_series else None,
        holes=tuple(hole_histogram(record, is_saturated=is_saturated)) if job.keeps_series else (),
    )


def run_jobs(jobs: Sequence[Job], *, num_processes: int | None = None) -> list[Outcome]:
    """Run jobs with a progress bar on stderr; outcomes come in the order of the jobs."""
    num_processes = min(num_processes or os.cpu_count() or 1, len(jobs))
    outcomes: dict[Trial, Outcome] = {}
    with tqdm(total=len(jobs), unit="run", file=sys.stderr, dynamic_ncols=True) as progress:
        for outcome in _completed(jobs, num_processes):
            outcomes[outcome.trial] = outcome
            progress.set_postfix_str(outcome.trial.allocator, refresh=False)
            progress.update()
    return [outcomes[job.trial] for job in jobs]


def _completed(jobs: Sequence[Job], num_processes: int) -> Iterator[Outcome]:
    if num_processes == 1:
        yield from map(run_job, jobs)
        return
    # Spawned, not forked: the same on every platform, and safe beside threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(num_processes, context, _die_on_interrupt) as pool:
        futures = [pool.submit(run_job, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _die_on_interrupt() -> None:
    """Let Ctrl-C end a worker at once and in silence; the parent says what happened."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
