"""Write results: CSV files and run.json."""

from __future__ import annotations

import csv
import json
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np

from experiments.options import Options
from experiments.plan import Plan
from experiments.sim.jobs import Outcome
from experiments.sim.setup import Trial

Cell = str | int | float | None

CLASS_COLUMNS = tuple(
    f"{name}_pct" for name in ("token", "reserved", "internal", "rounding", "cached_free", "free")
)
SERIES_COLUMNS = (
    "allocator",
    "seed",
    "t_s",
    *CLASS_COLUMNS,
    "running",
    "waiting",
    "preemptions",
    "external_fragmentation_index",
)
HOLE_COLUMNS = ("allocator", "seed", "run_slots_low", "run_slots_high", "mean_count")


def summary_row(outcome: Outcome) -> dict[str, Cell]:
    """Lay out one run by column, in the order of the CSV."""
    return {
        "workload": outcome.workload_name,
        "allocator": outcome.trial.allocator,
        "block_size": outcome.trial.block_size,
        "seed": outcome.trial.seed,
        "capacity_slots": outcome.capacity_slots,
        **outcome.measures,
        "watermark": outcome.trial.watermark,
    }


def write_results(
    directory: Path, options: Options, plan: Plan, outcomes: Mapping[Trial, Outcome]
) -> None:
    """Write every CSV file and run.json into a folder that exists.

    A sweep that was left out, and curves that nobody asked for, are files with a header
    and no rows: a folder never mixes two runs.
    """
    tables = {
        "fragmentation": plan.headline,
        "block_size": plan.block_sizes,
        "watermark": plan.watermarks,
    }
    columns = tuple(summary_row(next(iter(outcomes.values()))))
    for name, trials in tables.items():
        rows = [summary_row(outcomes[trial]) for trial in trials]
        write_csv(directory / f"{name}.csv", columns, rows)
    headline = [outcomes[trial] for trial in plan.headline]
    write_csv(directory / "timeseries.csv", SERIES_COLUMNS, _series_rows(headline))
    write_csv(directory / "holes.csv", HOLE_COLUMNS, _hole_rows(headline))
    text = json.dumps(describe(options, plan), indent=2)
    (directory / "run.json").write_text(text + "\n", encoding="utf-8")


def _series_rows(outcomes: Iterable[Outcome]) -> Iterator[dict[str, Cell]]:
    for outcome in outcomes:
        if outcome.series is None:
            continue
        names = list(outcome.series)
        for values in np.stack(list(outcome.series.values()), axis=1).tolist():
            yield {**_key(outcome), **dict(zip(names, values, strict=True))}


def _hole_rows(outcomes: Iterable[Outcome]) -> Iterator[dict[str, Cell]]:
    for outcome in outcomes:
        for low, high, count in outcome.holes:
            yield {
                **_key(outcome),
                "run_slots_low": low,
                "run_slots_high": high,
                "mean_count": count,
            }


def _key(outcome: Outcome) -> dict[str, Cell]:
    return {"allocator": outcome.trial.allocator, "seed": outcome.trial.seed}


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Cell]]) -> None:
    """Write a table: the same bytes for the same values, empty cells for None."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_text(row.get(name)) for name in columns] for row in rows)


def _text(cell: Cell) -> str:
    """Print a cell: the same bytes for the same value, empty for one not measured."""
    if cell is None:
        return ""
    return f"{cell:.6f}" if isinstance(cell, float) else str(cell)


def describe(options: Options, plan: Plan) -> dict[str, object]:
    """Say what was run: resolved settings, seeds, rows of the workload, versions."""
    setup = plan.setup
    workload = next(iter(plan.workloads.values()))
    return {
        "experiment": "fragmentation",
        "command": options.command,
        "config": {
            "model": setup.model.name,
            "gpu": setup.gpu.name,
            "kv_slots": setup.kv_slots,
            "kv_bytes_per_token": setup.model.kv_bytes_per_token,
            "max_model_len": setup.max_model_len,
            "max_num_seqs": setup.max_num_seqs,
            "max_num_batched_tokens": setup.max_num_batched_tokens,
            "arrivals": setup.arrivals,
            "rate_per_s": setup.rate_per_s,
            "step_time": setup.step_time_model,
            "allocators": list(options.allocators),
            "block_size": options.block_size,
            "watermark": options.watermark,
            "virtual_page_kib": options.page_kib,
            "virtual_page_tokens": setup.page_tokens // options.block_size * options.block_size,
            "quick": options.quick,
        },
        "seeds": list(plan.workloads),
        "workload": {
            "name": workload.name,
            "source": workload.source,
            "rows_read": workload.num_rows_read,
            "rows_kept": len(workload),
            "rows_dropped": dict(workload.dropped),
            "mean_prompt_tokens": float(workload.prompt_tokens.mean()),
            "mean_output_tokens": float(workload.output_tokens.mean()),
        },
        "model_shape": asdict(setup.model),
        "gpu_spec": asdict(setup.gpu),
        "versions": versions(),
    }


def versions() -> dict[str, str | None]:
    """Versions of what computed a result, and the commit of the source."""
    return {
        "paged": version("paged"),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "git": _git_id(),
    }


def _git_id() -> str | None:
    """Commit of the source, None outside a checkout or without git."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def batches_name(allocator: str) -> str:
    """Name the file with the recorded batches of an allocator."""
    return f"batches_{allocator}.rec"


def schedule_name(allocator: str) -> str:
    """Name the file of an allocator's schedule."""
    return f"schedule_{allocator}.json.gz"
