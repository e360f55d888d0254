"""Paged, reserved and static batching on a real model, and the simulator's prediction beside.

`python -m experiments.batching` serves requests of very different lengths with a real model,
once for each allocator with the batching that goes with it, prints throughput, batch and
where the time went, then what the simulator says of the same, and writes CSV, JSON, PNG and
report.html. `--help` lists all flags.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.command import run_command, start


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiment and return the exit status: 2, and one line, for bad input."""
    return run_command(lambda: _run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: Sequence[str]) -> None:
    from experiments.batching_options import parse_batching_options

    options = parse_batching_options(arguments)
    from experiments.batching_run import run

    run(options)


if __name__ == "__main__":
    start(main)
