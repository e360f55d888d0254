"""Steps that were replayed: right or wrong, and how far from another's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.measure.candidate import Candidate, Unserved
from paged.kernel.problem import Problem, Tensors
from paged.recording.recording import open_recording
from paged.replay.calls import CALLS
from paged.replay.contender import contender
from paged.replay.replay import StepOutcome, distance, replay
from paged.replay.shape import ReplayShape
from paged.replay.step_problem import StepProblem, StepSource
from paged.scheduler.batch import Batch
from tests.helpers.recorded_runs import random_requests, record

SHAPE = ReplayShape(num_kv_heads=1, group_size=2, head_dim=16, q_t="float32", kv_t="float32")
HOST = contender("attention", "host")


def _calls(batch: Batch, place: int, op: str = "attention") -> Iterable[StepProblem]:
    source = StepSource(place=place, seed=0, device=torch.device("cpu"))
    return CALLS[op].make(batch, SHAPE, source)


def changed(by: float, *, result: int = 0) -> Candidate:
    """Return the host's kernel with an element of one of its results changed."""

    def prepare(problem: Problem):
        def call() -> Tensors:
            results = HOST.prepare(problem)()
            results[result].view(-1)[1] += by
            return results

        return call

    return Candidate(name="changed", prepare=prepare)


def raising(error: Exception) -> Candidate:
    """Return what raises when it is made ready."""

    def prepare(_problem: Problem):
        raise error

    return Candidate(name="raising", prepare=prepare)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a recording."""
    record(tmp_path / "run", random_requests(4, 8))
    return tmp_path / "run"


def replayed(
    run: Path, kernel: Candidate, other: Candidate | None = None, **options: Any
) -> list[StepOutcome]:
    with open_recording(run) as recording:
        return replay(recording, range(0, 20, 7), _calls, (kernel, other), **options)


def test_a_right_kernel_has_no_fault(run: Path) -> None:
    outcomes = replayed(run, HOST, contender("attention", "reference"))
    assert [each.step for each in outcomes] == [0, 7, 14]
    assert all(each.fault is None and each.times is None for each in outcomes)
    assert all(0 < (each.error or 0) < 1e-5 for each in outcomes)
    assert all(0 <= (each.difference or 0) < 1e-5 for each in outcomes)


def test_a_difference_is_that_of_any_result(run: Path) -> None:
    for outcome in replayed(run, changed(0.5, result=1), HOST):
        assert outcome.error == pytest.approx(0.0, abs=1e-5)
        assert outcome.difference == pytest.approx(0.5)
        assert not outcome.is_equal


def test_a_wrong_one_is_told_with_its_distance(run: Path) -> None:
    for outcome in replayed(run, changed(0.5), HOST):
        assert "out[" in (outcome.fault or "")
        assert outcome.error == pytest.approx(0.5, abs=1e-4)
        assert outcome.difference == pytest.approx(0.5)
        assert not outcome.is_equal


def test_equal_results_are_told_to_be(run: Path) -> None:
    assert all(each.is_equal and each.difference == 0 for each in replayed(run, HOST, HOST))


def test_a_kernel_that_fails_is_wrong_and_the_others_still_run(run: Path) -> None:
    outcomes = replayed(run, raising(KernelRunError("it crashed")), HOST)
    assert [(each.fault, each.error) for each in outcomes] == [("it crashed", None)] * 3


def test_a_kernel_that_does_not_serve_is_not_wrong(run: Path) -> None:
    outcomes = replayed(run, raising(Unserved("no such type")))
    assert [(each.fault, each.why_not) for each in outcomes] == [(None, "no such type")] * 3


def test_both_are_timed_in_the_same_rounds(run: Path) -> None:
    for outcome in replayed(run, HOST, HOST, num_rounds=2):
        assert outcome.times is not None
        assert len(outcome.times.kernel.rounds_s) == len(outcome.times.other.rounds_s) == 2
        assert outcome.times.ratio > 0


def test_bytes_of_a_cuda_kernel_are_counted(run: Path) -> None:
    for outcome in replayed(run, contender("attention", "v1g"), is_counted=True):
        assert outcome.traffic is not None
        # a block of a few keys of 64 bytes each, and lists of lengths
        assert 1.0 <= (outcome.bytes_over_minimum or 0.0) < 4.0
    assert all(each.traffic is None for each in replayed(run, HOST, is_counted=True))


@pytest.mark.parametrize("op", ["write_kv", "rope_write_kv", "gather_kv", "copy_blocks"])
def test_other_operations_are_run_counted_and_timed(op: str, run: Path) -> None:
    with open_recording(run) as recording:
        outcomes = replay(
            recording,
            range(recording.num_steps),
            lambda batch, place: list(_calls(batch, place, op))[:1],
            (contender(op, "vector"), contender(op, "reference")),
            num_rounds=1,
            is_counted=True,
        )
    assert outcomes
    for outcome in outcomes:
        assert outcome.fault is None
        assert outcome.is_equal or op == "rope_write_kv"
        assert (outcome.error or 0.0) < 1e-5
        assert (outcome.bytes_over_minimum or 0.0) >= 1.0
        assert outcome.times is not None


def test_distance_knows_values_that_are_not_finite() -> None:
    inf, nan = torch.inf, torch.nan
    a = torch.tensor([1.0, inf, nan])
    assert distance(a, a) == 0
    assert distance(a, torch.tensor([1.5, inf, nan])) == 0.5
    assert distance(a, torch.tensor([1.0, -inf, nan])) == inf
    assert distance(a, torch.tensor([1.0, inf, 0.0])) == inf
    assert distance(a[:0], a[:0]) == 0
