"""Rounds are interleaved, and use fresh memory where a cache is to stay cold."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch

from paged.kernel.measure import timing
from paged.kernel.measure.candidate import Call, Candidate
from paged.kernel.measure.timing import (
    Effort,
    Round,
    Timing,
    copies_beyond,
    device_round,
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


def test_rounds_take_turns_that_alternate_and_settle_first() -> None:
    log: list[str] = []

    def logged(name: str, round_s: float) -> Round:
        def run() -> float:
            log.append(name)
            return round_s

        return Round(run, 2, lambda: log.append("settle"))

    taken = interleave({"a": logged("a", 4.0), "b": logged("b", 6.0)}, 3)
    assert log[::2] == ["settle"] * 6
    assert log[1::2] == ["a", "b", "b", "a", "a", "b"]
    assert taken == {"a": (2.0,) * 3, "b": (3.0,) * 3}


def test_what_ran_before_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(1e-4)
    monkeypatch.setattr(timing.time, "perf_counter", clock)
    left_s = {"disturbed": 0.0}

    def call() -> None:
        # threads of another spin for 8 ms, and make calls take five times as long
        call_s = 5e-4 if left_s["disturbed"] > 0 else 1e-4
        left_s["disturbed"] -= call_s
        clock.now_s += call_s

    each = host_round([call], Effort(least_s=0.005, most_s=0.01))

    def disturbing() -> float:
        left_s["disturbed"] = 8e-3
        return 1.0

    rounds = {"first": each, "second": each, "peer": Round(disturbing, 1, lambda: None)}
    taken = interleave(rounds, 5)
    assert taken["first"] == pytest.approx(taken["second"])


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


class FakeCuda:
    """CUDA's streams, events and graphs: a call takes 1 ms, a replay 0.5 ms for each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = 0.0
        self.num_captured = 0
        self._is_capturing = False
        for name, stand_in in {
            "Stream": lambda: SimpleNamespace(wait_stream=lambda _: None),
            "current_stream": lambda: SimpleNamespace(wait_stream=lambda _: None),
            "stream": nullcontext,
            "Event": lambda enable_timing: self._event(),
            "CUDAGraph": lambda: SimpleNamespace(replay=self._replay),
            "graph": lambda _: self._capture(),
        }.items():
            monkeypatch.setattr(torch.cuda, name, stand_in)

    def call(self) -> None:
        if self._is_capturing:
            self.num_captured += 1
        else:
            self.now_ms += 1.0

    @contextmanager
    def _capture(self) -> Generator[None]:
        self._is_capturing = True
        yield
        self._is_capturing = False

    def _replay(self) -> None:
        self.now_ms += 0.5 * self.num_captured

    def _event(self) -> SimpleNamespace:
        event = SimpleNamespace(at_ms=0.0, synchronize=lambda: None)

        def record() -> None:
            event.at_ms = self.now_ms

        event.record = record
        event.elapsed_time = lambda other: other.at_ms - event.at_ms
        return event


@pytest.mark.parametrize(("is_captured", "call_s"), [(True, 0.5e-3), (False, 1e-3)])
def test_on_a_gpu_a_round_is_a_graph_or_a_run_of_calls(
    is_captured: bool, call_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda = FakeCuda(monkeypatch)
    each = device_round([cuda.call] * 3, is_captured=is_captured)
    # five milliseconds' worth of calls, by the time of the warm-up
    assert each.num_calls == 5
    assert cuda.num_captured == (5 if is_captured else 0)
    assert each.call_s() == pytest.approx(call_s)


@pytest.mark.gpu
@pytest.mark.parametrize("is_captured", [True, False])
def test_a_copy_on_a_real_gpu_takes_time(is_captured: bool) -> None:
    source = torch.ones(1 << 24, device="cuda")
    target = torch.zeros_like(source)
    each = device_round([lambda: target.copy_(source)], is_captured=is_captured)
    target.zero_()
    # 128 MB read and written, at less than 100 TB/s
    assert each.call_s() > (1 << 27) / 1e14
    assert bool((target == 1).all())
