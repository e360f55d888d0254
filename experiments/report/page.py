"""The self-contained page: figures embedded, tables, definitions, configuration."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from experiments.report.arms import ORACLE_NOTE, POW2_NOTE, UNREACHABLE, Arm, in_order
from experiments.report.figures.catalogue import DrawnFigure
from experiments.report.regime import regime
from experiments.report.results import Json, Results, flatten
from experiments.report.slot_classes import SLOT_CLASSES
from experiments.report.table import Table
from experiments.report.tables import detail_table, headline_table, paper_table, sweep_table

TEMPLATE_NAME = "report.html.j2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One headline arm at a glance; numbers are printed text."""

    arm: Arm
    token_pct: str
    mean_batch: str
    preemptions: str


def page_environment() -> Environment:
    """Return where templates are found; a name that a page lacks is an error."""
    return Environment(
        loader=PackageLoader("experiments.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_page(results: Results, figures: list[DrawnFigure]) -> str:
    """Write the page. It fetches nothing: styles and images are inside it."""
    return (
        page_environment()
        .get_template(TEMPLATE_NAME)
        .render(
            regime=regime(results, results.fragmentation),
            headline=headline(results),
            cards=_cards(results),
            figures=[(one, base64.b64encode(one.png).decode()) for one in figures],
            tables=_tables(results),
            slot_classes=SLOT_CLASSES,
            arms=in_order(results.fragmentation.names("allocator")),
            unreachable=UNREACHABLE,
            oracle_note=ORACLE_NOTE,
            pow2_note=POW2_NOTE,
            rows=_row_accounting(results),
            settings=_settings(results),
            command=results.setting("command") or "python -m experiments.fragmentation",
        )
    )


def headline(results: Results) -> str | None:
    """Compare paged with reserving the maximum; None where either did not run."""
    workload = results.workloads()[0]
    names = results.fragmentation.where(workload=workload).names("allocator")
    if not {"paged", "reserved-max"} <= set(names):
        return None
    paged, reserved = (
        results.estimate(workload, name, "token_pct").mean for name in ("paged", "reserved-max")
    )
    preemptions = results.estimate(workload, "paged", "preemptions_per_completion").mean
    return (
        f"On {workload}, paged fills {paged:.1f} % of the pool with token states, reserved-max"
        f" {reserved:.1f} %: {paged / reserved:.1f} times as much,{_speedup(results, workload)} at"
        f" {preemptions:.2f} preemptions per completed request."
    )


def _speedup(results: Results, workload: str) -> str:
    """Say how many tokens per second that comes to; nothing where it was not measured."""
    column = "throughput_tokens_per_s"
    if column not in results.fragmentation:
        return ""
    paged, reserved = (
        results.estimate(workload, name, column).mean for name in ("paged", "reserved-max")
    )
    return f" for {paged / reserved:.1f} times the tokens per simulated second,"


def _cards(results: Results) -> list[Card]:
    workload = results.workloads()[0]

    def mean(arm: Arm, column: str, decimals: int) -> str:
        return results.estimate(workload, arm.name, column).mean_text(decimals)

    return [
        Card(
            arm=arm,
            token_pct=mean(arm, "token_pct", 1),
            mean_batch=mean(arm, "mean_batch", 1),
            preemptions=mean(arm, "preemptions_per_completion", 2),
        )
        for arm in in_order(results.fragmentation.where(workload=workload).names("allocator"))
    ]


def _tables(results: Results) -> list[Table]:
    found: list[Table | None] = []
    for workload in results.workloads():
        found += [headline_table(results, workload), paper_table(results, workload)]
        found.append(detail_table(results, workload))
    if results.block_size is not None:
        found.append(sweep_table(results.block_size, "block_size", "block", "Block size"))
    if results.watermark is not None:
        found.append(sweep_table(results.watermark, "watermark", "share kept free", "Watermark"))
    return [table for table in found if table is not None]


def _row_accounting(results: Results) -> list[tuple[str, str]]:
    """Reconcile the rows of the workload: read = kept + dropped, reason by reason."""
    workload = results.run.get("workload")
    if not isinstance(workload, dict) or "rows_read" not in workload:
        return []
    dropped = workload.get("rows_dropped")
    reasons = dropped if isinstance(dropped, dict) else {}
    return [
        ("read", _text(workload["rows_read"])),
        ("kept", _text(workload.get("rows_kept"))),
        *((f"dropped: {reason}", _text(count)) for reason, count in reasons.items()),
    ]


def _settings(results: Results) -> list[tuple[str, str]]:
    return [
        (".".join(path), _text(value))
        for path, value in flatten(results.run)
        if "rows_dropped" not in path
    ]


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return "none" if value is None else json.dumps(value)
