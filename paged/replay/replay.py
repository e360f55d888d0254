"""Run a kernel on calls of recorded steps, judge it, and compare and time it beside another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tqdm import tqdm

from paged.errors import KernelRunError
from paged.kernel.measure.candidate import Candidate, Clock, Unserved
from paged.kernel.measure.timing import Timing, interleave, make_round
from paged.kernel.measure.workloads import with_own_memory
from paged.kernel.problem import Tensors, same_bits
from paged.kernel.traffic import Traffic, measure_traffic
from paged.recording.recording import Recording
from paged.replay.step_problem import StepProblem
from paged.scheduler.batch import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How long a call took the kernel and the other, in the same rounds."""

    kernel: Timing
    other: Timing

    @property
    def ratio(self) -> float:
        """How many times as long as the other the kernel takes."""
        return self.kernel.times(self.other)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """What came of one call of a step.

    step: its place in the recording. text: its size in words.
    fault: what is wrong with the kernel's result, or how it failed.
    why_not: why the kernel does not serve this call.
    error: most that an element is away from the exact one, of attention's out alone, otherwise of
        all results; infinite where only one of the two is finite. None where there is no result.
    traffic: bytes that the kernel moves, where they were counted.
    difference: most that an element of any result is away from the other's. is_equal: whether all
        bits are equal.
    """

    step: int
    text: str
    fault: str | None = None
    why_not: str | None = None
    error: float | None = None
    difference: float | None = None
    is_equal: bool = False
    times: Times | None = None
    traffic: Traffic | None = None

    @property
    def bytes_over_minimum(self) -> float | None:
        """Bytes moved over the least; None where they were not counted."""
        return None if self.traffic is None else self.traffic.bytes_over_minimum


def replay(
    recording: Recording,
    places: Sequence[int],
    make_calls: Callable[[Batch, int], Iterable[StepProblem]],
    candidates: tuple[Candidate, Candidate | None],
    *,
    num_rounds: int = 0,
    l2_bytes: int | None = None,
    is_counted: bool = False,
) -> list[StepOutcome]:
    """Run a kernel, and perhaps another, on the calls that the steps at some places make.

    num_rounds, l2_bytes, is_counted: as for `replay_step`.
    Raises: RecordingError; as `replay_step`.
    """
    steps = tqdm(recording.steps_at(places), total=len(places), unit="step", leave=False)
    return [
        replay_step(
            call,
            *candidates,
            num_rounds=num_rounds,
            l2_bytes=l2_bytes,
            is_counted=is_counted,
        )
        for place, step in zip(places, steps, strict=True)
        for call in make_calls(step.batch, place)
    ]


def replay_step(
    step: StepProblem,
    kernel: Candidate,
    other: Candidate | None,
    *,
    num_rounds: int = 0,
    l2_bytes: int | None = None,
    is_counted: bool = False,
) -> StepOutcome:
    """Run a kernel, and the other, on one call of a step.

    num_rounds: in which both are timed; 0 times neither. l2_bytes: a GPU's cache, which the
        rounds do not find warm. is_counted: count the bytes that a CUDA kernel moves, on a CPU.
    Raises: what a kernel raises, but for its own faults while it runs.
    """
    try:
        got = _results(kernel, step)
    except Unserved as error:
        return StepOutcome(step=step.place, text=step.text, why_not=str(error))
    except KernelRunError as error:
        return StepOutcome(step=step.place, text=step.text, fault=str(error))
    expected = None if other is None else _results(other, step)
    times = None
    if other is not None and num_rounds:
        times = _times(step, (kernel, other), num_rounds, l2_bytes)
    return StepOutcome(
        step=step.place,
        text=step.text,
        fault=step.problem.judge(got),
        error=max(map(distance, got, step.exact())),
        difference=None if expected is None else max(map(distance, got, expected)),
        is_equal=expected is not None and same_bits(got, expected) is None,
        times=times,
        traffic=_traffic(kernel, step) if is_counted else None,
    )


def _traffic(candidate: Candidate, step: StepProblem) -> Traffic | None:
    if candidate.spec is None:
        return None
    numbers: dict[str, Any] = {**step.problem.numbers}
    # careful: on their own memory, for a call may write to what it is given
    operands = with_own_memory(step.problem).operands
    return measure_traffic(candidate.spec, *operands, **numbers)


def _results(candidate: Candidate, step: StepProblem) -> Tensors:
    return candidate.prepare(with_own_memory(step.problem))()


def _times(
    step: StepProblem, candidates: Sequence[Candidate], num_rounds: int, l2_bytes: int | None
) -> Times:
    # by place: both may have one name
    rounds = {
        str(place): make_round(candidate, step.problem, l2_bytes)
        for place, candidate in enumerate(candidates)
    }
    clocks: list[Clock] = [
        "host" if l2_bytes is None else candidate.clock for candidate in candidates
    ]
    seconds = interleave(rounds, num_rounds).values()
    kernel, other = (
        Timing(rounds_s=each, clock=clock) for each, clock in zip(seconds, clocks, strict=True)
    )
    return Times(kernel=kernel, other=other)


def distance(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the most that any element is away; infinite where only one of two is finite."""
    if not got.numel():
        return 0.0
    a, b = got.to(torch.float64), expected.to(torch.float64)
    is_same = (a == b) | (a.isnan() & b.isnan())
    return float(torch.where(is_same, 0.0, (a - b).abs()).nan_to_num(torch.inf, torch.inf).max())
