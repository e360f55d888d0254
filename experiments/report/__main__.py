"""Redraw the report of a results folder: python -m experiments.report DIR."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.report import ResultsError, summary_table, write_report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 2 with one line on stderr where the folder cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.report",
        description="Redraw figures, report.html and the printed table from the CSV and JSON"
        " files of a results folder.",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="a results folder")
    directory: Path = parser.parse_args(arguments).directory
    try:
        table = summary_table(directory)
        written = write_report(directory)
    except (ResultsError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table)
    print()
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
