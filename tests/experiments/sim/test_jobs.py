"""Many runs, in this process or in others."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from experiments.sim.jobs import Job, run_jobs
from experiments.sim.setup import Setup, Trial
from experiments.workload import sharegpt_like
from paged.errors import RequestRefused
from paged.hardware import GPUS
from paged.recording.recording import open_recording
from paged.shapes import MODELS

SETUP = Setup(
    model=MODELS["opt-13b"],
    gpu=GPUS["a100-40gb"],
    kv_slots=15_728,
    max_model_len=2_048,
    max_num_seqs=64,
    max_num_batched_tokens=None,
    page_bytes=2 * 2**20,
    arrivals="saturated",
    rate_per_s=None,
)


def make_jobs(setup: Setup = SETUP) -> list[Job]:
    workload = sharegpt_like(seed=0, num_requests=40)
    return [
        Job(
            trial=Trial(allocator=name, seed=0),
            setup=setup,
            workload=workload,
            keeps_series=name == "reserved-oracle",
        )
        for name in ("reserved-oracle", "paged")
    ]


def test_processes_change_nothing(capfd):
    alone = run_jobs(make_jobs(), num_processes=1)
    spread = run_jobs(make_jobs(), num_processes=2)
    assert [one.trial.allocator for one in spread] == ["reserved-oracle", "paged"]
    for left, right in zip(alone, spread, strict=True):
        assert left.measures == right.measures
        assert left.holes == right.holes
    assert "2/2" in capfd.readouterr().err


def test_curves_only_where_asked_for():
    contiguous, paged = run_jobs(make_jobs(), num_processes=1)
    assert contiguous.series is not None
    assert np.isfinite(contiguous.series["external_fragmentation_index"]).all()
    assert contiguous.holes
    assert paged.series is None
    assert paged.holes == ()


def test_a_schedule_is_written_where_asked_for_and_changes_nothing(tmp_path: Path):
    plain = run_jobs(make_jobs(), num_processes=1)
    for num_processes in (1, 2):
        folder = tmp_path / str(num_processes)
        folder.mkdir()
        jobs = [
            dataclasses.replace(job, schedule=folder / f"{job.trial.allocator}.json.gz")
            for job in make_jobs()
        ]
        traced = run_jobs(jobs, num_processes=num_processes)
        assert [one.measures for one in traced] == [one.measures for one in plain]
    for name in ("reserved-oracle.json.gz", "paged.json.gz"):
        packed = (tmp_path / "1" / name).read_bytes()
        assert (tmp_path / "2" / name).read_bytes() == packed
        events = json.loads(gzip.decompress(packed))["traceEvents"]
        tracks = {one["tid"] for one in events if (one["ph"], one["pid"]) == ("X", 2)}
        assert len(tracks) == 40


def test_batches_are_written_where_asked_for_and_change_nothing(tmp_path: Path):
    plain = run_jobs(make_jobs(), num_processes=1)
    jobs = [dataclasses.replace(job, batches=tmp_path / job.trial.allocator) for job in make_jobs()]
    recorded = run_jobs(jobs, num_processes=1)
    assert [one.measures for one in recorded] == [one.measures for one in plain]
    for job in jobs:
        with open_recording(tmp_path / job.trial.allocator) as recording:
            model = recording.header.model
            assert model is not None
            assert (model.name, model.num_heads) == ("opt-13b", SETUP.model.num_heads)
            steps = [(step.batch.num_tokens, step.batch.num_drawn) for step in recording.steps()]
        num_new = int(job.workload.output_tokens.sum())
        assert sum(num_drawn for _, num_drawn in steps) == num_new
        assert sum(num_tokens for num_tokens, _ in steps) >= num_new


@pytest.mark.parametrize("num_processes", [1, 2])
def test_an_error_in_a_run_comes_out(num_processes):
    setup = dataclasses.replace(SETUP, kv_slots=512)
    with pytest.raises(RequestRefused, match="can never fit"):
        run_jobs(make_jobs(setup), num_processes=num_processes)
