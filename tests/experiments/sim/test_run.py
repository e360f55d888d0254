"""Runs from workload to record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments.sim.record import CLASSES
from experiments.sim.run import simulate
from experiments.sim.setup import Setup, Trial
from experiments.workload import Workload, WorkloadError
from paged.errors import RequestRefused
from paged.hardware import GPUS
from paged.shapes import MODELS

SETUP = Setup(
    model=MODELS["opt-13b"],
    gpu=GPUS["a100-40gb"],
    kv_slots=4_096,
    max_model_len=512,
    max_num_seqs=16,
    max_num_batched_tokens=None,
    page_bytes=2 * 2**20,
    arrivals="saturated",
    rate_per_s=None,
)
PAGED = Trial(allocator="paged", seed=0)


def workload(**changes: object) -> Workload:
    random = np.random.default_rng(0)
    columns = {
        "name": "small",
        "source": "test",
        "prompt_tokens": random.integers(1, 200, 60),
        "output_tokens": random.integers(1, 200, 60),
        "num_rows_read": 60,
        "arrival_s": np.arange(60) * 100.0,
    }
    return Workload(**{**columns, **changes})


def test_every_request_is_served_to_its_length():
    small = workload()
    record = simulate(small, SETUP, PAGED)
    assert sorted(record.requests["output_tokens"]) == sorted(small.output_tokens)
    assert record.steps["waiting"][0] > 0
    total = np.sum([record.steps[name] for name in CLASSES], axis=0)
    assert set(total.tolist()) == {4096}


def test_steps_tile_time_and_idle_stretches_are_empty():
    record = simulate(workload(), replace(SETUP, arrivals="trace"), PAGED)
    start_s, duration_s = record.steps["start_s"], record.steps["duration_s"]
    assert start_s[1:] == pytest.approx(start_s[:-1] + duration_s[:-1])
    is_idle = record.steps["running"] == 0
    assert is_idle.sum() == 59
    assert set(record.steps["token"][is_idle]) == {0}
    # requests 100 s apart never meet, and each starts when it arrives
    assert record.steps["running"].max() == 1
    assert record.requests["admitted_s"] == pytest.approx(record.requests["arrival_s"])


def test_equal_seeds_give_equal_runs_and_others_do_not():
    poisson = replace(SETUP, arrivals="poisson", rate_per_s=2.0)
    first, second = (simulate(workload(), poisson, PAGED) for _ in range(2))
    for name, column in first.steps.items():
        assert np.array_equal(column, second.steps[name]), name
    other = simulate(workload(), poisson, replace(PAGED, seed=1))
    assert not np.array_equal(first.requests["arrival_s"], other.requests["arrival_s"])


def test_allocators_see_the_same_arrivals():
    poisson = replace(SETUP, arrivals="poisson", rate_per_s=2.0)
    records = [
        simulate(workload(), poisson, replace(PAGED, allocator=name))
        for name in ("paged", "reserved-max")
    ]
    arrivals = [sorted(record.requests["arrival_s"]) for record in records]
    assert arrivals[0] == arrivals[1]


def test_a_request_that_never_fits_is_refused():
    with pytest.raises(RequestRefused, match="can never fit"):
        simulate(workload(), replace(SETUP, kv_slots=128), PAGED)


def test_trace_arrivals_need_timestamps():
    with pytest.raises(WorkloadError, match="records no timestamps"):
        simulate(workload(arrival_s=None), replace(SETUP, arrivals="trace"), PAGED)
