"""Comparisons of one run, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import Comparison
from paged.kernel.measure.table import BYTES_LEGEND

_NAMES = {"vllm": "vLLM"}
_HEADINGS = ("benchmark", "unit", "mean", "median", "of goal")
_BYTES = "bytes_over_minimum"
_NOTED = {
    _BYTES: "bytes over minimum",
    "throughput": "throughput",
    "judging": "plain, judged: processor time",
}
_LEGEND = "us per unit; (x N): N times our time, median of interleaved rounds; of goal: mean"


@dataclass(slots=True)
class Collected:
    """What a run has measured so far, by name of the benchmark.

    wants_peer: whether a benchmark has asked for vLLM.
    """

    comparisons: dict[str, Comparison] = field(default_factory=dict[str, Comparison])
    peer_versions: dict[str, Any] | None = None
    wants_peer: bool = False

    def keep(self, benchmark: BenchmarkFixture, comparison: Comparison) -> None:
        """Keep a comparison for the summary and for the benchmark's JSON file."""
        self.comparisons[benchmark.name] = comparison
        benchmark.extra_info["comparison"] = comparison.as_dict()


def table(comparisons: Mapping[str, Comparison]) -> list[str]:
    """Lay comparisons out as text: times in us per unit, in brackets how much we are faster."""
    rivals = list(dict.fromkeys(r for each in comparisons.values() for r in each.rivals))
    noted = [note for note in _NOTED if any(note in each.notes for each in comparisons.values())]
    names = [_NAMES.get(rival, rival) for rival in rivals]
    rows = [[*_HEADINGS, *(_NOTED[note] for note in noted), *names]]
    for name, each in comparisons.items():
        told = [each.notes.get(note) or "-" for note in noted]
        rows.append([*_row(name, each), *told, *(_beside(each, rival) for rival in rivals)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    legends = [_LEGEND, BYTES_LEGEND] if _BYTES in noted else [_LEGEND]
    return [line.rstrip() for line in [*lines, *legends]]


def by_rivals(comparisons: Mapping[str, Comparison]) -> list[dict[str, Comparison]]:
    """Return comparisons in groups that share rivals, each for a table of its own."""
    groups: list[tuple[set[str], dict[str, Comparison]]] = []
    for name, comparison in comparisons.items():
        rivals = set(comparison.rivals)
        group = next((g for known, g in groups if known & rivals or known == rivals), None)
        if group is None:
            group = {}
            groups.append((rivals, group))
        group[name] = comparison
    return [group for _, group in groups]


def _row(name: str, comparison: Comparison) -> tuple[str, ...]:
    share = comparison.share_of_goal
    goal = "-" if share is None else f"{share:.2f} of {comparison.goal_us:g}"
    return (
        name,
        comparison.unit,
        f"{comparison.ours.mean_us:.4g}",
        f"{comparison.ours.median_us:.4g}",
        goal,
    )


def _beside(comparison: Comparison, rival: str) -> str:
    if rival not in comparison.rivals:
        return "-"
    ratio = float(f"{comparison.ratio(rival):.2g}")
    return f"{comparison.rivals[rival].mean_us:.4g} (x {ratio:g})"
