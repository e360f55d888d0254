"""A results folder, read once: everything a report is drawn from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from experiments import paper
from experiments.report.estimate import Estimate, estimate
from experiments.report.frame import Frame, ResultsError, read_frame
from experiments.report.slot_classes import CLASS_COLUMNS

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

SUMMARY_COLUMNS = (
    "workload",
    "allocator",
    "block_size",
    "seed",
    "capacity_slots",
    *CLASS_COLUMNS,
    "mean_batch",
    "preemptions_per_completion",
    "waiting_share_pct",
)
TIMESERIES_COLUMNS = ("allocator", "t_s", *CLASS_COLUMNS, "running", "waiting", "preemptions")
HOLES_COLUMNS = ("allocator", "run_slots_low", "run_slots_high", "mean_count")
RUN_NAME = "run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The files of one run; None for those that are missing or empty.

    fragmentation: headline arms, one row per workload, allocator and seed.
    run: what run.json says (configuration, rows, versions); empty without that file.
    """

    fragmentation: Frame
    block_size: Frame | None
    watermark: Frame | None
    timeseries: Frame | None
    holes: Frame | None
    run: dict[str, Json]

    def workloads(self) -> list[str]:
        """Name the workloads of the headline arms."""
        return self.fragmentation.names("workload")

    def arm(self, workload: str, allocator: str) -> Frame:
        """Select the headline rows of one arm, one per seed."""
        return self.fragmentation.where(workload=workload, allocator=allocator)

    def estimate(self, workload: str, allocator: str, column: str) -> Estimate:
        """Average one column of one headline arm over seeds."""
        return estimate(self.arm(workload, allocator)[column])

    def paper_row(self, workload: str, allocator: str) -> paper.PaperRow | None:
        """Find the paper's numbers for an arm; None unless the set-up is the paper's."""
        rows = self.arm(workload, allocator)
        max_model_len = self.setting("max_model_len")
        is_same = paper.is_paper_setup(
            workload=workload,
            capacity_slots=int(rows["capacity_slots"][0]),
            block_size=int(rows["block_size"][0]),
            max_model_len=max_model_len if isinstance(max_model_len, int) else None,
        )
        return paper.ROWS.get(allocator) if is_same else None

    def setting(self, name: str) -> Json:
        """Find a recorded setting by its name, at whatever depth; None if absent."""
        return next((value for path, value in flatten(self.run) if path[-1] == name), None)


def flatten(tree: dict[str, Json]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Walk the leaves of nested mappings, outermost first, with their path of keys."""
    nested = [(key, value) for key, value in tree.items() if isinstance(value, dict)]
    for key, value in tree.items():
        if not isinstance(value, dict):
            yield (key,), value
    for key, value in nested:
        for path, leaf in flatten(value):
            yield (key, *path), leaf


def load_results(directory: Path) -> Results:
    """Read a results folder.

    Raises: ResultsError when it has no headline results or a file cannot be read.
    """
    if not directory.is_dir():
        raise ResultsError(f"expected a results folder, got {directory}; run an experiment first")
    fragmentation = read_frame(directory / "fragmentation.csv", SUMMARY_COLUMNS)
    if fragmentation is None:
        raise ResultsError(
            f"expected fragmentation.csv with rows in {directory}, found none;"
            " run python -m experiments.fragmentation first"
        )
    run_path = directory / RUN_NAME
    return Results(
        fragmentation=fragmentation,
        block_size=read_frame(directory / "block_size.csv", SUMMARY_COLUMNS),
        watermark=read_frame(directory / "watermark.csv", (*SUMMARY_COLUMNS, "watermark")),
        timeseries=read_frame(directory / "timeseries.csv", TIMESERIES_COLUMNS),
        holes=read_frame(directory / "holes.csv", HOLES_COLUMNS),
        run=read_run(run_path) if run_path.is_file() else {},
    )


def read_run(path: Path) -> dict[str, Json]:
    """Read what a run.json says. Raises: ResultsError where there is no such file."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(f"{path.name}: {error}; run the experiment again") from error
    except json.JSONDecodeError as error:
        raise ResultsError(f"{path.name}: not JSON ({error}); rerun the experiment") from error
    if not isinstance(tree, dict):
        raise ResultsError(f"{path.name}: expected an object; rerun the experiment")
    return cast("dict[str, Json]", tree)
