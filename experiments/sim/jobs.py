"""Run many simulations on all cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from experiments.interrupts import HeldInterrupts
from experiments.sim.record import Column
from experiments.sim.run import simulate
from experiments.sim.series import hole_histogram, thin
from experiments.sim.setup import Setup, Trial
from experiments.sim.summary import Measures, summarise
from experiments.workload import Workload
from paged.engine.chrome_trace import chrome_trace
from paged.engine.engine import Observer
from paged.recording.recorder import recording_to

_ENDING = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """One run to make.

    keeps_series: also return its curves over time and its holes.
    schedule, batches: files that its schedule and its batches are written to while it runs, if
        any.
    """

    trial: Trial
    setup: Setup
    workload: Workload
    keeps_series: bool
    schedule: Path | None = None
    batches: Path | None = None


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
    with ExitStack() as files:
        observers: list[Observer] = []
        if job.schedule is not None:
            observers.append(files.enter_context(chrome_trace(job.schedule)))
        if job.batches is not None:
            model = job.setup.recorded_model
            observers.append(files.enter_context(recording_to(job.batches, model=model)))
        record = simulate(job.workload, job.setup, job.trial, observers=observers)
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
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(num_processes, context, _start_worker) as pool:
        futures: list[Future[Outcome]] = []
        try:
            # The first starts the workers, which a signal must not cut short: we take it when
            # they are started, and each worker, whose mask is ours, once it is up.
            with HeldInterrupts():
                signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
                try:
                    futures.extend([pool.submit(run_job, job) for job in jobs])
                finally:
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
            for future in as_completed(futures):
                yield future.result()
        finally:
            if not all(future.done() for future in futures):
                # Nobody will read what they still compute, perhaps for minutes.
                for worker in set(multiprocessing.active_children()) - others:
                    worker.terminate()
            pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    """Let a worker end at once and in silence on Ctrl-C, and with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
