"""Simulated time against a real vLLM run: fit on its first half, score on the rest.

`python -m experiments.calibration --trace-dir DIR` fits the step-time model, prints its
parameters beside the acceptance bounds and writes calibration.csv, .json and .png, and
the schedule of the fitted replay as schedule.json.gz for ui.perfetto.dev.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.command import Parser, parse_path, run_command, start


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the calibration and return the exit status: 2, and one line, for bad input."""
    return run_command(lambda: _run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: Sequence[str]) -> None:
    options = _parse(arguments)
    from experiments.calibration_run import run

    run(options.trace_dir, options.out, is_recorded=options.record)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser(prog="python -m experiments.calibration", description=__doc__)
    parser.add_argument(
        "--trace-dir",
        type=parse_path,
        metavar="DIR",
        default=os.environ.get("PAGED_TRACES") or None,
        help="folder of the recorded run (default: the environment variable PAGED_TRACES)",
    )
    parser.add_argument(
        "--out",
        type=parse_path,
        metavar="DIR",
        default=Path("results/calibration"),
        help="folder for results (default: results/calibration)",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="write every batch of the fitted replay to batches.rec for paged replay",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    start(main)
