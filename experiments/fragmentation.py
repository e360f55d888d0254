"""Paged versus contiguous KV memory: Figure 2 of the vLLM paper, and any workload.

`python -m experiments.fragmentation` simulates the production allocators and scheduler on
the paper's workload, prints a table beside the paper's numbers, and writes CSV, JSON, PNG
and report.html. `--trace FILE` does the same with a real trace; `--help` lists all flags.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.command import run_command, start


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiment and return the exit status: 2, and one line, for bad input."""
    return run_command(lambda: _run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: Sequence[str]) -> None:
    from experiments.fragmentation_run import run
    from experiments.options import parse_options

    run(parse_options(arguments))


if __name__ == "__main__":
    start(main)
