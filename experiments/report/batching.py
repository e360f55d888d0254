"""The batching experiment as a reader sees it: table, figure, page."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import cast

from experiments.report.arms import POW2_NOTE, Arm, in_order
from experiments.report.estimate import estimate
from experiments.report.frame import Frame, ResultsError, read_frame
from experiments.report.results import RUN_NAME, Json, flatten, read_run
from experiments.report.table import Table

FIGURE_NAME, PAGE_NAME = "batching.png", "report.html"
TEMPLATE_NAME = "batching.html.j2"

# (column, header, format)
MEASURES = (
    ("tokens_per_s", "tokens/s", ".1f"),
    ("mean_batch", "batch", ".1f"),
    ("work_pct", "work %", ".1f"),
    ("padding_pct", "padding %", ".1f"),
    ("idle_pct", "idle rows %", ".1f"),
    ("no_model_pct", "no model %", ".1f"),
    ("scored_tokens_per_s", "scored tokens/s", ".1f"),
    ("predicted_tokens_per_s", "predicted", ".1f"),
    ("rate_difference_pct", "difference %", "+.1f"),
    ("batch_difference_pct", "batch diff. %", "+.1f"),
)
COLUMNS = ("allocator", "batching", "seed", *(column for column, _, _ in MEASURES))
GOAL_PCT = 10.0

DEFINITIONS = (
    "tokens/s: output tokens by the time from the first step to the last. batch: sequences that"
    " a step computes, weighted by its time; rows whose sequence has ended do not count.",
    "The four shares split that time. no model: outside the model (scheduling, block tables,"
    " inputs, drawing, text). padding: inside it, on tokens of no sequence, by their share of the"
    " tokens that the model was given; batches are ragged, so there are none on a CPU. idle rows:"
    " the rest of a step's time by the share of rows that hold memory and compute nothing, as"
    " those of a static batch do once their sequence has ended. The engine computes nothing for"
    " such a row, so what an idle row costs is the larger batch that its memory would have made"
    " room for. work: what is left.",
    "predicted: the same allocator and scheduler under simulated time, with one affine step-time"
    " model for all arms. It was fitted to the first half of the steps of one arm, and that arm"
    " is scored on its other half, the others on all their steps. The simulation schedules the"
    " very steps of the real engine, which is checked: what differs is time. difference % and"
    " batch diff. %: predicted tokens/s and batch beside those of the scored steps.",
)


def _read_arms(directory: Path) -> Frame:
    frame = read_frame(directory / "batching.csv", COLUMNS)
    if frame is None:
        raise ResultsError(f"expected batching.csv with rows in {directory}; run the experiment")
    return frame


def batching_table(directory: Path) -> Table:
    """Lay the arms out beside the simulator's prediction. Raises: ResultsError."""
    return _table(_read_arms(directory), read_run(directory / RUN_NAME))


def _table(frame: Frame, run: dict[str, Json]) -> Table:
    arms = in_order(frame.names("allocator"))
    has_pow2 = any(arm.name == "reserved-pow2" for arm in arms)
    return Table(
        title="Batching on a real model, beside its simulation",
        header=("allocator", "batching", *(header for _, header, _ in MEASURES)),
        rows=tuple(_row(frame.where(allocator=arm.name), arm) for arm in arms),
        notes=(
            f"{_regime(run)}.",
            *DEFINITIONS,
            f"Step times were fitted to {run['fitted_to']}. {_verdict(frame)}",
            *([POW2_NOTE] if has_pow2 else []),
        ),
        num_text_columns=2,
    )


def _row(rows: Frame, arm: Arm) -> tuple[str, ...]:
    cells = [f"{estimate(rows[column]).mean:{text}}" for column, _, text in MEASURES]
    return (arm.name, rows.names("batching")[0], *cells)


def _verdict(frame: Frame) -> str:
    """Say how far the worst prediction is off, beside the goal."""
    worst_pct = float(abs(frame["rate_difference_pct"]).max())
    is_met = "met" if worst_pct <= GOAL_PCT else "missed"
    return f"Largest difference {worst_pct:.1f} %; the goal of {GOAL_PCT:.0f} % is {is_met}."


def _regime(run: dict[str, Json]) -> str:
    """State model, load, pool and rounds."""
    config, load = _mapping(run, "config"), _mapping(run, "workload")
    prompts, outputs = (cast("list[int]", load[f"{kind}_tokens"]) for kind in ("prompt", "output"))
    seeds = cast("list[int]", run["seeds"])
    return (
        f"{config['model']}, weights {config['dtype']}, {load['requests']} requests queued at once,"
        f" prompts {prompts[0]} to {prompts[1]}, outputs {outputs[0]} to {outputs[1]} tokens,"
        f" greedy; pool of {run['kv_slots']} slots, max length {config['max_model_len']}, at most"
        f" {config['max_num_seqs']} at once; each step's time is its median over"
        f" {_count(run['rounds'], 'run')}; {_count(len(seeds), 'seed')}"
    )


def _count(number: Json, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _mapping(run: dict[str, Json], name: str) -> dict[str, Json]:
    return cast("dict[str, Json]", run[name])


def write_batching_report(directory: Path) -> None:
    """Draw the figure and the page from the CSV and JSON files of a folder.

    Mutates: batching.png and report.html there. Raises: ResultsError for files it cannot read.
    """
    from experiments.report.batching_figure import draw_batching
    from experiments.report.page import page_environment

    frame, run = _read_arms(directory), read_run(directory / RUN_NAME)
    regime = _regime(run)
    png = draw_batching(directory, regime=regime)
    page = (
        page_environment()
        .get_template(TEMPLATE_NAME)
        .render(
            regime=regime,
            figure=base64.b64encode(png).decode(),
            tables=[_table(frame, run)],
            definitions=DEFINITIONS,
            arms=in_order(frame.names("allocator")),
            settings=[(".".join(path), json.dumps(leaf)) for path, leaf in flatten(run)],
            command=run["command"],
        )
    )
    (directory / FIGURE_NAME).write_bytes(png)
    (directory / PAGE_NAME).write_text(page, encoding="utf-8")
