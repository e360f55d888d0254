"""Paged versus contiguous KV memory: Figure 2 of the vLLM paper, and any workload.

`python -m experiments.fragmentation` simulates the production allocators and scheduler on
the paper's workload, prints a table beside the paper's numbers, and writes CSV, JSON, PNG
and report.html. `--trace FILE` does the same with a real trace; `--help` lists all flags.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from experiments.options import Options, parse_options
from experiments.plan import make_plan
from experiments.report import summary_table, write_report
from experiments.results import published, require_writable, summary_row, write_results
from experiments.sim.jobs import Job, run_jobs
from experiments.workload import WorkloadError
from paged.errors import ConfigError, RequestRefused

BAD_INPUT, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiment and return the exit status: 2, and one line, for bad input."""
    try:
        run(parse_options(sys.argv[1:] if arguments is None else arguments))
    except (ConfigError, WorkloadError, RequestRefused) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return INTERRUPTED
    return 0


def run(options: Options) -> None:
    """Simulate, write the results folder and print the summary.

    Raises: ConfigError, WorkloadError, RequestRefused for bad input; nothing is written.
    """
    require_writable(options.out)
    plan = make_plan(options)
    if not options.json:
        print(next(iter(plan.workloads.values())).accounting)
    jobs = [
        Job(
            trial=trial,
            setup=plan.setup,
            workload=plan.workloads[trial.seed],
            keeps_series=trial in plan.headline and trial.seed == options.seed,
        )
        for trial in plan.trials
    ]
    outcomes = {one.trial: one for one in run_jobs(jobs, num_processes=options.jobs)}
    # Here and not at the top: the processes that simulate need no drawing library.
    from experiments.report.figures.catalogue import FIGURES

    figures = [kind.filename for kind in FIGURES]
    with published(options.out, owned=figures) as directory:
        write_results(directory, options, plan, outcomes)
        write_report(directory)
        table = summary_table(directory)
    if options.json:
        rows = [summary_row(outcomes[trial]) for trial in plan.headline]
        print(json.dumps(rows, indent=2))
    else:
        print(table)
        print(f"report: {options.out / 'report.html'}")


if __name__ == "__main__":
    sys.exit(main())
