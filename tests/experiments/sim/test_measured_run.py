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


def write(folder: Path, *, requests: list[dict], header: str = "kv_cache_pct") -> Path:
    """Write a run of one request and two ticks."""
    row = {"timestamp_ns": 0, "input_length": 20, "output_length": 5}
    row |= {"hash_ids": [0], "output_hash_ids": []}
    ticks = f"t,prompt_throughput,gen_throughput,running,waiting,{header}\n"
    ticks += "1.0,20.0,1.0,1,0,3.5\n2.0,0.0,4.0,0,0,0.0\n"
    texts = {
        WORKLOAD_FILE: json.dumps(row),
        TIMESERIES_FILE: ticks,
        REQUESTS_FILE: "\n".join(map(json.dumps, requests)),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(gzip.compress(text.encode()))
    return folder


def test_columns_and_times(tmp_path: Path) -> None:
    run = load_measured_run(write(tmp_path, requests=[REQUEST]))
    assert run.num_fit_ticks == 1
    assert run.tick_s.tolist() == [0.875, 1.875]
    assert run.kv_pct.tolist() == [3.5, 0.0]
    assert run.prompt_tokens.tolist() == [20.0, 0.0]
    assert run.new_tokens.tolist() == [1.0, 4.0]
    assert run.running.tolist() == [1.0, 0.0]
    assert run.arrival_s.tolist() == [0.0]
    assert run.first_token_s.tolist() == [0.25]
    assert run.finished_s.tolist() == [1.0]


def test_files_of_different_runs_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, requests=[REQUEST | {"output_toks": 6}])
    with pytest.raises(WorkloadError, match="list different requests"):
        load_measured_run(folder)


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path, requests=[REQUEST], header="kv")
    with pytest.raises(WorkloadError, match=r"timeseries.csv.gz:2: expected the field kv_cache"):
        load_measured_run(folder)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=WORKLOAD_FILE):
        load_measured_run(tmp_path)


def test_the_real_run(traces_dir: Path) -> None:
    run = load_measured_run(traces_dir)
    assert (len(run.tick_s), len(run.workload), run.num_fit_ticks) == (184, 300, 92)
    # What the ticks count is what the requests were: nothing is lost between the files.
    assert run.new_tokens.sum() == run.workload.output_tokens.sum()
    assert run.prompt_tokens.sum() == run.workload.prompt_tokens.sum()
    assert (run.first_token_s - run.arrival_s).mean() == pytest.approx(65.5, abs=0.1)
