"""Reading the recorded run, and refusing files that are not of one run."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from experiments.sim.measured_run import (
    REQUESTS_FILE,
    TIMESERIES_FILE,
    WORKLOAD_FILE,
    load_measured_run,
)
from experiments.workload import WorkloadError

REQUEST = {
    "input_toks": 20,
    "output_toks": 5,
    "queued_ts": 100.5,
    "first_token_ts": 100.75,
    "last_token_ts": 101.5,
}


HEADER: str = "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct"
TICKS = [f"{tick}.0,{20 if tick == 1 else 0},0.25,1,0,3.5" for tick in range(1, 21)]


def write(
    folder: Path, *, requests: list[dict], header: str = HEADER, ticks: list[str] = TICKS
) -> Path:
    """Write a run of one request and twenty ticks."""
    row = {"timestamp_ns": 0, "input_length": 20, "output_length": 5}
    row |= {"hash_ids": [0], "output_hash_ids": []}
    texts = {
        WORKLOAD_FILE: json.dumps(row),
        TIMESERIES_FILE: "\n".join([header, *ticks]),
        REQUESTS_FILE: "\n".join(map(json.dumps, requests)),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(gzip.compress(text.encode()))
    return folder


def test_columns_and_times(tmp_path: Path) -> None:
    run = load_measured_run(write(tmp_path, requests=[REQUEST]))
    assert run.num_fit_ticks == 10
    assert run.tick_s[:2].tolist() == [0.875, 1.875]
    assert run.kv_pct[:2].tolist() == [3.5, 3.5]
    assert run.prompt_tokens[:2].tolist() == [20.0, 0.0]
    assert run.new_tokens[:2].tolist() == [0.25, 0.25]
    assert run.running[:2].tolist() == [1.0, 1.0]
    assert run.arrival_s.tolist() == [0.0]
    assert run.first_token_s.tolist() == [0.25]
    assert run.finished_s.tolist() == [1.0]


def test_files_of_different_runs_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, requests=[REQUEST | {"output_toks": 6}])
    with pytest.raises(WorkloadError, match="list different requests"):
        load_measured_run(folder)


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path, requests=[REQUEST], header=HEADER.replace("kv_cache_pct", "kv"))
    with pytest.raises(WorkloadError, match=r"timeseries.csv.gz:2: expected the field kv_cache"):
        load_measured_run(folder)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=WORKLOAD_FILE):
        load_measured_run(tmp_path)


@pytest.mark.parametrize(
    ("num_ticks", "column", "value", "message"),
    [
        (0, "t", None, "expected at least 20 ticks, got 0"),
        (1, "t", None, "expected at least 20 ticks, got 1"),
        (2, "t", None, "expected at least 20 ticks, got 2"),
        (20, "t", "0", "expected a tick each second"),
        (20, "t", "-5", "expected a tick each second"),
        (20, "t", "1e300", "got tick 1 1e.300 s after"),
        (20, "kv_cache_pct", "0", "kv_pct: 0 at every tick of the first half"),
        (20, "kv_cache_pct", "101", "kv_pct: expected values from 0 to 100"),
        (20, "gen_throughput", "0", "new_tokens: 0 at every tick"),
        (20, "gen_throughput", "1e300", "new_tokens: expected values from 0 to 1"),
        (20, "prompt_throughput", "-1", "prompt_tokens: expected values from 0"),
        (20, "running", "0", "running: 0 at every tick"),
        (20, "waiting", "-1", "waiting: expected values from 0"),
    ],
)
def test_ticks_that_cannot_be_fitted_are_refused(
    num_ticks: int, column: str, value: str | None, message: str, *, tmp_path: Path
) -> None:
    index = HEADER.split(",").index(column)
    rows = [row.split(",") for row in TICKS[:num_ticks]]
    if value is not None:
        rows = [[*row[:index], value, *row[index + 1 :]] for row in rows]
    folder = write(tmp_path, requests=[REQUEST], ticks=[",".join(row) for row in rows])
    with pytest.raises(WorkloadError, match=message):
        load_measured_run(folder)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"first_token_ts": 100.25}, "not so of request 1"),
        ({"last_token_ts": 100.5}, "not so of request 1"),
        ({"first_token_ts": 100.5}, "no server is that fast"),
    ],
)
def test_times_that_cannot_be_true_are_refused(
    times: dict[str, float], message: str, tmp_path: Path
) -> None:
    folder = write(tmp_path, requests=[REQUEST | times])
    with pytest.raises(WorkloadError, match=message):
        load_measured_run(folder)


def test_the_real_run(traces_dir: Path) -> None:
    run = load_measured_run(traces_dir)
    assert (len(run.tick_s), len(run.workload), run.num_fit_ticks) == (184, 300, 92)
    # What the ticks count is what the requests were: nothing is lost between the files.
    assert run.new_tokens.sum() == run.workload.output_tokens.sum()
    assert run.prompt_tokens.sum() == run.workload.prompt_tokens.sum()
    assert (run.first_token_s - run.arrival_s).mean() == pytest.approx(65.5, abs=0.1)
