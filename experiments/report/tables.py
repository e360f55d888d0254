"""The tables of a report: headline, beside the paper, ablations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments import paper
from experiments.report.arms import ORACLE_NOTE, POW2_NOTE, Arm, in_order
from experiments.report.estimate import estimate
from experiments.report.frame import Frame
from experiments.report.regime import regime
from experiments.report.results import Results
from experiments.report.slot_classes import CLASS_COLUMNS
from experiments.report.table import Table

ORACLE_MARK = "*"
BATCH_MARK = "†"
# a gap that the time weights make and a reader should know of
MAX_STEP_GAP_PCT = 1.0
# Below this share of waiting time a row does not stand for its whole window.
MOST_OF_THE_TIME_PCT = 99.0
Measures = Sequence[tuple[str, str, int]]
"""(column, header, decimals)"""

MEASURES: Measures = (
    ("token_pct", "token %", 1),
    ("reserved_pct", "reserved %", 1),
    ("internal_pct", "internal %", 1),
    ("rounding_pct", "rounding %", 1),
    ("cached_free_pct", "cached %", 1),
    ("free_pct", "free %", 1),
    ("mean_batch", "batch", 1),
    ("preemptions_per_completion", "preempt.", 2),
    ("waiting_share_pct", "waiting %", 1),
)
DETAILS: Measures = (
    ("p50_batch", "p50 batch", 1),
    ("p99_batch", "p99 batch", 1),
    ("completions", "completions", 0),
    ("recomputed_token_pct", "recomputed %", 1),
    ("external_fragmentation_index", "frag. index", 3),
    ("throughput_tokens_per_s", "tokens/s", 0),
    ("normalized_latency_s_per_token", "latency s/token", 3),
    ("mean_ttft_s", "TTFT s", 3),
    ("mean_tpot_s", "TPOT s", 4),
)
DETAIL_NOTE = (
    "recomputed = tokens computed again, in % of those computed for the first time; frag. index ="
    " 1 - largest free run / total free (contiguous allocators only); a dash: does not apply."
)
MEASURE_NOTE = (
    "batch = sequences in a step, weighted by its time as the shares are (of a static batch those"
    " that still compute); preempt. = preemptions per completion; ± sample standard deviation"
    " over seeds; waiting = share of the window in which memory keeps a request waiting."
)


def headline_table(results: Results, workload: str) -> Table:
    """Show shares, batch, preemptions and waiting of every headline arm."""
    frame = results.fragmentation.where(workload=workload)
    arms = in_order(frame.names("allocator"))
    return Table(
        title=f"KV pool by slot class, {workload}",
        header=("allocator", *(header for _, header, _ in MEASURES)),
        rows=tuple((_marked(arm), *_measures(frame.where(allocator=arm.name))) for arm in arms),
        notes=(
            *regime(results, frame).splitlines(),
            MEASURE_NOTE,
            *_arm_notes(arms),
            *_waiting_notes(frame, arms),
            *_window_notes(frame, arms),
            *_step_notes(frame, arms),
        ),
    )


def _marked(arm: Arm) -> str:
    return arm.name + ORACLE_MARK if arm.is_oracle else arm.name


def _measures(frame: Frame, measures: Measures = MEASURES) -> list[str]:
    return [estimate(frame[column]).text(decimals) for column, _, decimals in measures]


def _arm_notes(arms: list[Arm]) -> list[str]:
    notes: list[str] = []
    if any(arm.is_oracle for arm in arms):
        notes.append(f"{ORACLE_MARK} {ORACLE_NOTE}")
    if any(arm.name == "reserved-pow2" for arm in arms):
        notes.append(POW2_NOTE)
    return notes


def _waiting_notes(frame: Frame, arms: list[Arm]) -> list[str]:
    """Say what time the shares of an arm cover where that is not all of the window."""
    rarely: list[str] = []
    for arm in arms:
        waiting = estimate(frame.where(allocator=arm.name)["waiting_share_pct"]).mean
        if waiting < MOST_OF_THE_TIME_PCT:
            rarely.append(f"{arm.name} {waiting:.1f} %")
    if not rarely:
        return []
    return [
        f"Not bound by memory all the time: {', '.join(rarely)}. Shares and batch of these cover"
        " the waiting time alone, or all busy time where nothing waits: compare them with care."
    ]


def _window_notes(frame: Frame, arms: list[Arm]) -> list[str]:
    if "is_steady_window" not in frame:
        return []
    short = frame.select(frame["is_steady_window"] == 0).names("allocator")
    names = ", ".join(arm.name for arm in arms if arm.name in short)
    if not names:
        return []
    return [f"Too short to cut warm-up and drain off, so the whole run counts: {names}."]


def _step_notes(frame: Frame, arms: list[Arm]) -> list[str]:
    """Name the arms whose token share depends on how steps are weighed."""
    if "token_per_step_pct" not in frame:
        return []
    apart: list[str] = []
    for arm in arms:
        own = frame.where(allocator=arm.name)
        by_step = estimate(own["token_per_step_pct"]).mean
        if abs(by_step - estimate(own["token_pct"]).mean) > MAX_STEP_GAP_PCT:
            apart.append(f"{arm.name} {by_step:.1f}")
    return [f"token % if all steps weighed the same: {', '.join(apart)}."] if apart else []


def detail_table(results: Results, workload: str) -> Table | None:
    """Show what else the run measured of each headline arm; None if nothing."""
    frame = results.fragmentation.where(workload=workload)
    present = [one for one in DETAILS if one[0] in frame and np.isfinite(frame[one[0]]).any()]
    if not present:
        return None
    return Table(
        title="Batch, work and latency",
        header=("allocator", *(header for _, header, _ in present)),
        rows=tuple(
            (_marked(arm), *_measures(frame.where(allocator=arm.name), present))
            for arm in in_order(frame.names("allocator"))
        ),
        notes=(DETAIL_NOTE,),
    )


def paper_table(results: Results, workload: str) -> Table | None:
    """Set our numbers beside the paper's; None unless the set-up is the paper's."""
    arms = in_order(results.fragmentation.where(workload=workload).names("allocator"))
    compared = [(arm, results.paper_row(workload, arm.name)) for arm in arms]
    rows = [
        cells
        for arm, row in compared
        if row is not None
        for cells in _compare(arm, row, _ours(results, workload, arm))
    ]
    if not rows:
        return None
    has_limited_batch = any(row and not row.is_batch_comparable for _, row in compared)
    notes = [f"paper: {paper.SOURCE}.", "external & others = rounding + free."]
    if has_limited_batch:
        notes += ["The paper gives vLLM's other 3.7 % in all, not split."]
        notes += [f"{BATCH_MARK} {paper.BATCH_NOTE}"]
    return Table(
        title=f"Beside the paper ({paper.MODEL}, {paper.CAPACITY_SLOTS:,} slots)",
        header=(
            "allocator",
            "",
            "token %",
            "reserved %",
            "internal %",
            "external & others %",
            "batch",
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        num_text_columns=2,
    )


def _ours(results: Results, workload: str, arm: Arm) -> list[float]:
    """Measure what the paper prints: four shares, then the mean batch."""
    mean = {
        column: results.estimate(workload, arm.name, column).mean
        for column in (*CLASS_COLUMNS, "mean_batch")
    }
    others_pct = mean["rounding_pct"] + mean["free_pct"]
    return [
        mean["token_pct"],
        mean["reserved_pct"],
        mean["internal_pct"],
        others_pct,
        mean["mean_batch"],
    ]


def _compare(arm: Arm, row: paper.PaperRow, ours: list[float]) -> list[tuple[str, ...]]:
    shares = [row.token_pct, row.reserved_pct, row.internal_pct, row.others_pct]
    comparable_batch = row.mean_batch if row.is_batch_comparable else None
    theirs = [*shares, comparable_batch]
    batch = f"{row.mean_batch:.2f}" + ("" if row.is_batch_comparable else BATCH_MARK)
    *our_shares, our_batch = ours
    return [
        (_marked(arm), "ours", *(f"{share:.1f}" for share in our_shares), f"{our_batch:.2f}"),
        ("", row.system, *("-" if share is None else f"{share:.1f}" for share in shares), batch),
        ("", "difference", *(_difference(a, b) for a, b in zip(ours, theirs, strict=True))),
    ]


def _difference(ours: float, theirs: float | None) -> str:
    if theirs is None:
        return "-"
    return f"{round(ours - theirs, 1) + 0.0:+.1f}"  # + 0.0 turns -0.0 into 0.0


def sweep_table(frame: Frame, column: str, header: str, title: str) -> Table:
    """Show every measure over a swept setting, one row per allocator and value."""
    rows = [
        (arm.name, _value_text(value), *_measures(own))
        for arm in in_order(frame.names("allocator"))
        for value, own in frame.where(allocator=arm.name).by_value(column)
    ]
    return Table(
        title=title,
        header=("allocator", header, *(name for _, name, _ in MEASURES)),
        rows=tuple(rows),
        notes=(MEASURE_NOTE,),
    )


def _value_text(value: float) -> str:
    return f"{np.round(value, 6):g}"
