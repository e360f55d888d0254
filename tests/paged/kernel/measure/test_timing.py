"""Rounds are interleaved, and use fresh memory where a cache is to stay cold."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.measure import timing
from paged.kernel.measure.candidate import Call, Candidate
from paged.kernel.measure.timing import (
    Effort,
    Round,
    Timing,
    copies_beyond,
    host_round,
    interleave,
    make_round,
)
from paged.kernel.problem import Problem
from tests.helpers.measured import CPU, WORKLOAD


class Clock:
    """Moves on by a step at each reading."""

    def __init__(self, step_s: float) -> None:
        self.now_s = 0.0
        self._step_s = step_s

    def __call__(self) -> float:
        self.now_s += self._step_s
        return self.now_s


def test_rounds_take_turns() -> None:
    log: list[str] = []

    def logged(name: str, round_s: float) -> Round:
        def run() -> float:
            log.append(name)
            return round_s

        return Round(run, 2)

    taken = interleave({"a": logged("a", 4.0), "b": logged("b", 6.0)}, 3)
    assert log == ["a", "b"] * 3
    assert taken == {"a": (2.0,) * 3, "b": (3.0,) * 3}


def test_ratio_is_that_of_the_middle_pair() -> None:
    # a disturbance met both in the second round
    ours = Timing(rounds_s=(1.0, 50.0, 1.0), clock="host")
    peer = Timing(rounds_s=(4.0, 150.0, 3.0), clock="host")
    assert peer.times(ours) == 3.0
    assert ours.median_s == 1.0


@pytest.mark.parametrize(
    ("call_s", "num_copies", "num_calls"),
    [(0.01, 1, 2), (1e-3, 1, 20), (1e-3, 40, 40), (1e-3, 300, 100), (1.0, 64, 1), (0.0, 1, 500)],
)
def test_a_round_has_calls_for_each_copy_where_time_allows(
    call_s: float, num_copies: int, num_calls: int
) -> None:
    assert Effort(least_s=0.02, most_s=0.1).num_calls(call_s, num_copies) == num_calls


@pytest.mark.parametrize(
    ("num_bytes", "num_copies"), [(1000, 1), (999, 2), (300, 4), (1, 500), (0, 500)]
)
def test_copies_together_exceed_the_cache(num_bytes: int, num_copies: int) -> None:
    assert copies_beyond(200, num_bytes) == num_copies


def test_copies_are_used_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    # every call seems to take 1 ms
    monkeypatch.setattr(timing.time, "perf_counter", Clock(1e-3))
    each = host_round(
        [lambda i=i: used.append(i) for i in range(3)], Effort(least_s=0.004, most_s=1.0)
    )
    assert each.num_calls == 4
    used.clear()
    assert each.call_s() == pytest.approx(1e-3 / 4)
    assert used == [0, 1, 2, 0]


def test_a_candidate_gets_memory_of_its_own() -> None:
    seen: list[Problem] = []

    def prepare(problem: Problem) -> Call:
        seen.append(problem)
        return lambda: ()

    problem = WORKLOAD.build(CPU, 1)
    make_round(Candidate(name="none", prepare=prepare), problem, None)
    assert len(seen) == 1
    for own, given in zip(seen[0].operands, problem.operands, strict=True):
        assert own is None or given is None or own.data_ptr() != given.data_ptr()
        assert own is None or given is None or torch.equal(own, given)


def test_with_a_cache_every_copy_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def prepare(problem: Problem) -> Call:
        query = problem.operands[0]
        assert query is not None
        seen.append(query.data_ptr())
        return lambda: (query,)

    problem = WORKLOAD.build(CPU, 1)
    make_round(Candidate(name="none", prepare=prepare, clock="host"), problem, 10_000)
    assert len(set(seen)) == len(seen) == copies_beyond(10_000, 17_984 + 52)
