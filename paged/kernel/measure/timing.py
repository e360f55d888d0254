"""Time calls in interleaved rounds: by the host on a CPU, in CUDA graphs on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any

import torch

from paged.kernel.measure.candidate import Candidate, Clock, operand_bytes
from paged.kernel.measure.workloads import with_own_memory
from paged.kernel.problem import Problem

L2_TIMES = 5
"""Copies of the operands that are used in turn fill the L2 cache as often as this."""

SETTLE_S = 0.01
"""Before a round that the host times, at least a call long."""

_MAX_CALLS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long a round takes: about least_s, but no longer than most_s by repeating calls."""

    least_s: float
    most_s: float

    def num_calls(self, call_s: float, num_copies: int) -> int:
        """Return how many calls make a round: where time allows, each copy serves one."""
        wanted = max(num_copies, ceil(self.least_s / max(call_s, 1e-9)))
        return max(1, min(wanted, _MAX_CALLS, int(self.most_s / max(call_s, 1e-9))))


ON_CPU = Effort(least_s=0.02, most_s=0.1)
ON_GPU = Effort(least_s=0.005, most_s=0.05)


@dataclass(frozen=True, slots=True)
class Round:
    """A candidate ready to be timed.

    Attributes:
        run: runs num_calls calls and returns the seconds of all.
        settle: runs calls that are not timed, so that what ran before disturbs no timed one.

    """

    run: Callable[[], float]
    num_calls: int
    settle: Callable[[], Any]

    def call_s(self) -> float:
        """Run a round and return the seconds of one call."""
        return self.run() / self.num_calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds of one call in each round."""

    rounds_s: tuple[float, ...]
    clock: Clock

    @property
    def median_s(self) -> float:
        """The middle round."""
        return median(self.rounds_s)

    def times(self, other: Timing) -> float:
        """Return how many times as long this takes as another, in the middle pair of rounds."""
        return median(a / b for a, b in zip(self.rounds_s, other.rounds_s, strict=True))


def interleave(rounds: Mapping[str, Round], num_rounds: int) -> dict[str, tuple[float, ...]]:
    """Run a round of each in turn, so that a disturbance meets all of them.

    Every second turn goes backwards: none always comes after the same one.
    """
    taken: dict[str, list[float]] = {name: [] for name in rounds}
    for turn in range(num_rounds):
        for name in list(rounds)[:: -1 if turn % 2 else 1]:
            rounds[name].settle()
            taken[name].append(rounds[name].call_s())
    return {name: tuple(seconds) for name, seconds in taken.items()}


def make_round(candidate: Candidate, problem: Problem, l2_bytes: int | None) -> Round:
    """Return a candidate's round on a problem, warmed up.

    l2_bytes: size of the GPU's cache, which the round's memory exceeds; None on a CPU.
    """
    if l2_bytes is None:
        return host_round([candidate.prepare(with_own_memory(problem))], ON_CPU)
    num_copies = copies_beyond(l2_bytes, operand_bytes(problem))
    calls = [candidate.prepare(with_own_memory(problem)) for _ in range(num_copies)]
    if candidate.clock == "host":
        return host_round(calls, ON_GPU)
    return device_round(calls, is_captured=candidate.clock == "graph")


def copies_beyond(l2_bytes: int, num_bytes: int) -> int:
    """Return how many copies of operands together leave nothing of one in the cache."""
    return max(1, min(_MAX_CALLS, ceil(L2_TIMES * l2_bytes / max(num_bytes, 1))))


def host_round(calls: Sequence[Callable[[], Any]], effort: Effort) -> Round:
    """Return a round timed by the host, for calls that are over when they return."""
    calls[0]()
    begin_s = time.perf_counter()
    calls[0]()
    num_calls = effort.num_calls(time.perf_counter() - begin_s, len(calls))

    def run() -> float:
        begin_s = time.perf_counter()
        for i in range(num_calls):
            calls[i % len(calls)]()
        return time.perf_counter() - begin_s

    def settle() -> None:
        # threads of a call before, as torch's, spin for some milliseconds more
        end_s = time.perf_counter() + SETTLE_S
        calls[0]()
        while time.perf_counter() < end_s:
            calls[0]()

    return Round(run, num_calls, settle)


def device_round(calls: Sequence[Callable[[], Any]], *, is_captured: bool) -> Round:
    """Return a round timed by events on the GPU's stream: the replay of a graph, or calls."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls:
            call()
        call_s = _elapsed_s(lambda: [call() for call in calls]) / len(calls)
    torch.cuda.current_stream().wait_stream(stream)
    num_calls = ON_GPU.num_calls(call_s, len(calls))

    def run_all() -> None:
        for i in range(num_calls):
            calls[i % len(calls)]()

    if not is_captured:
        return Round(lambda: _elapsed_s(run_all), num_calls, torch.cuda.synchronize)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run_all()
    graph.replay()
    return Round(lambda: _elapsed_s(graph.replay), num_calls, torch.cuda.synchronize)


def _elapsed_s(run: Callable[[], Any]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3
