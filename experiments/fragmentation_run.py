"""The run behind `python -m experiments.fragmentation`: simulate, write, summarise."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.options import Options
from experiments.output import published, require_writable
from experiments.plan import Plan, make_plan
from experiments.report import summary_table, write_report
from experiments.results import batches_name, schedule_name, summary_row, write_results
from experiments.sim.jobs import Job, run_jobs
from paged.allocator.registry import ALLOCATORS


def run(options: Options) -> None:
    """Simulate, write the results folder and print the summary.

    Raises: ConfigError, WorkloadError, RequestRefused for bad input; nothing is written.
    """
    require_writable(options.folder)
    plan = make_plan(options)
    if not options.json:
        print(next(iter(plan.workloads.values())).accounting)
    with published(options.folder, owned=_files_of_some_runs()) as directory:
        jobs = _jobs(options, plan, directory)
        outcomes = {one.trial: one for one in run_jobs(jobs, num_processes=options.jobs)}
        write_results(directory, options, plan, outcomes)
        write_report(directory)
        table = summary_table(directory)
    if options.json:
        rows = [summary_row(outcomes[trial]) for trial in plan.headline]
        print(json.dumps(rows, indent=2))
    else:
        print(table)
        print(f"report: {options.folder / 'report.html'}")


def _jobs(options: Options, plan: Plan, directory: Path) -> list[Job]:
    """List the runs; headline arms keep curves of the first seed, and schedules on demand."""
    shown = {trial for trial in plan.headline if trial.seed == options.seed}
    return [
        Job(
            trial=trial,
            setup=plan.setup,
            workload=plan.workloads[trial.seed],
            keeps_series=trial in shown,
            schedule=directory / schedule_name(trial.allocator)
            if options.chrome_trace and trial in shown
            else None,
            batches=directory / batches_name(trial.allocator)
            if options.record and trial in shown
            else None,
        )
        for trial in plan.trials
    ]


def _files_of_some_runs() -> list[str]:
    """Name the files that a run writes or not, as it was asked to."""
    # Here and not at the top: the processes that simulate need no drawing library.
    from experiments.report.figures.catalogue import FIGURES

    named = [name(each) for name in (schedule_name, batches_name) for each in ALLOCATORS]
    return [*(kind.filename for kind in FIGURES), *named]
