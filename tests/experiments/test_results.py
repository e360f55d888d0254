"""Results on disk: equal bytes for equal values."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from experiments.options import Options
from experiments.plan import make_plan
from experiments.results import summary_row, write_results
from experiments.sim.jobs import Outcome

OPTIONS = Options(seeds=2, num_requests=20, allocators=("reserved-oracle", "paged"))


@pytest.fixture(scope="module")
def plan():
    return make_plan(replace(OPTIONS, no_ablations=True))


@pytest.fixture
def outcomes(plan):
    """One outcome for each trial; the first seed has two points of a curve."""
    measures = {"token_pct": 12.5, "completions": 7, "mean_ttft_s": None}
    return {
        trial: Outcome(
            trial=trial,
            workload_name="sharegpt-like",
            capacity_slots=15_728,
            measures=measures,
            series={"t_s": np.array([0.5, 1.5])} if trial.seed == 0 else None,
            holes=((16, 32, 1.5),) if trial.allocator == "reserved-oracle" else (),
        )
        for trial in plan.trials
    }


def test_columns_come_in_the_agreed_order_and_cells_are_fixed(tmp_path, plan, outcomes):
    write_results(tmp_path, OPTIONS, plan, outcomes)
    header, *rows = (tmp_path / "fragmentation.csv").read_text().splitlines()
    assert header == (
        "workload,allocator,block_size,seed,capacity_slots,token_pct,completions,mean_ttft_s,"
        "watermark"
    )
    assert rows[0] == "sharegpt-like,reserved-oracle,16,0,15728,12.500000,7,,0.010000"
    assert len(rows) == 4


def test_sweeps_left_out_are_empty_files(tmp_path, plan, outcomes):
    write_results(tmp_path, OPTIONS, plan, outcomes)
    for name in ("block_size", "watermark"):
        assert len((tmp_path / f"{name}.csv").read_text().splitlines()) == 1


def test_curves_are_those_of_the_first_seed(tmp_path, plan, outcomes):
    write_results(tmp_path, OPTIONS, plan, outcomes)
    with (tmp_path / "timeseries.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["allocator"], row["seed"], row["t_s"]) for row in rows] == [
        ("reserved-oracle", "0", "0.500000"),
        ("reserved-oracle", "0", "1.500000"),
        ("paged", "0", "0.500000"),
        ("paged", "0", "1.500000"),
    ]
    assert rows[0]["external_fragmentation_index"] == ""


def test_run_json_says_what_ran(tmp_path, plan, outcomes):
    write_results(tmp_path, OPTIONS, plan, outcomes)
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["config"]["kv_slots"] == 15_728
    assert run["config"]["virtual_page_tokens"] == 192
    assert run["seeds"] == [0, 1]
    workload = run["workload"]
    assert workload["rows_read"] == workload["rows_kept"] + sum(workload["rows_dropped"].values())
    assert set(run["versions"]) == {"paged", "numpy", "python", "git"}


def test_a_row_starts_with_what_identifies_it(outcomes):
    row = summary_row(next(iter(outcomes.values())))
    assert list(row)[:5] == ["workload", "allocator", "block_size", "seed", "capacity_slots"]
