"""Redraw a results folder: PNG figures, one self-contained page, the printed table."""

from __future__ import annotations

import os
from pathlib import Path

from experiments.report.results import load_results
from experiments.report.tables import detail_table, headline_table, paper_table

PAGE_NAME = "report.html"


def write_report(directory: Path) -> list[Path]:
    """Draw every figure that the folder has data for, then the page; return their paths.

    Mutates: the PNG files and report.html in directory; a figure without data any more
    is removed. Equal inputs give equal bytes.
    Raises: ResultsError before anything is written when the inputs cannot be read.
    """
    from experiments.report.figures.catalogue import FIGURES, draw_all
    from experiments.report.page import render_page

    results = load_results(directory)
    drawn = draw_all(results)
    page = render_page(results, drawn)
    written = [_write(directory / one.kind.filename, one.png) for one in drawn]
    for kind in FIGURES:
        if all(one.kind is not kind for one in drawn):
            (directory / kind.filename).unlink(missing_ok=True)
    return [*written, _write(directory / PAGE_NAME, page.encode())]


def summary_table(directory: Path) -> str:
    """Lay out the headline arms for a terminal, beside the paper where it applies.

    Raises: ResultsError when the inputs cannot be read.
    """
    results = load_results(directory)
    parts: list[str] = []
    for workload in results.workloads():
        parts.append(headline_table(results, workload).render())
        details = detail_table(results, workload)
        if details is not None:
            parts.append(details.render())
        beside = paper_table(results, workload)
        if beside is not None:
            parts.append(beside.render())
    return "\n\n".join(parts)


def _write(path: Path, data: bytes) -> Path:
    """Write a whole file or none of it."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)
    return path
