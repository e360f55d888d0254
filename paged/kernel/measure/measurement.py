"""Time kernels and peers on a workload, each checked first, and set them beside the hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from paged.errors import PagedError
from paged.kernel.binding import bind
from paged.kernel.cost import least_work
from paged.kernel.measure.bandwidth import Hardware
from paged.kernel.measure.candidate import Candidate, Clock, Unserved, fault_of
from paged.kernel.measure.counted import Counted, count
from paged.kernel.measure.timing import Round, Timing, interleave, make_round
from paged.kernel.measure.workloads import Workload
from paged.kernel.problem import Problem
from paged.kernel.registry import ops
from paged.kernel.work import Work

SEEDS = (1, 2)
"""Each candidate is checked on calls of these seeds; the first one's is timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one candidate did on a workload.

    Attributes:
        fault: what was wrong with its result; it was then not timed.
        why_not: why it does not serve the workload.
        counted: bytes that a kernel of ours moves; None for what was not timed, and for peers.

    """

    name: str
    is_peer: bool
    timing: Timing | None = None
    fault: str | None = None
    why_not: str | None = None
    counted: Counted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """All candidates' results on one workload, timed in the same rounds."""

    op: str
    workload: str
    hardware: Hardware
    work: Work
    results: tuple[Result, ...]

    @property
    def is_compute_bound(self) -> bool:
        """Whether the least time is that of computing, not of moving bytes."""
        roofline = self.hardware.roofline
        return self.work.flops / roofline.flops_per_s > self.work.bytes / roofline.bytes_per_s

    @property
    def floor_s(self) -> float:
        """Least time that the measured hardware needs."""
        return self.hardware.roofline.least_s(self.work)

    @property
    def timed_peers(self) -> dict[str, Timing]:
        """Peers that were right, and so were timed."""
        return {r.name: r.timing for r in self.results if r.is_peer and r.timing is not None}

    def rows(self) -> list[dict[str, Any]]:
        """Plain values for JSON, a row for each result."""
        return [self._row(result) for result in self.results]

    def _row(self, result: Result) -> dict[str, Any]:
        row: dict[str, Any] = {
            "op": self.op,
            "workload": self.workload,
            "name": result.name,
            "is_peer": result.is_peer,
            "device": self.hardware.device.type,
            "bytes": self.work.bytes,
            "flops": self.work.flops,
            "floor_s": self.floor_s,
            "bound": "flops" if self.is_compute_bound else "bytes",
            "fault": result.fault,
            "why_not": result.why_not,
        }
        if result.counted is not None:
            row["traffic"] = result.counted.row()
        if result.timing is None:
            return row
        timing = result.timing
        return row | {
            "clock": timing.clock,
            "median_s": timing.median_s,
            "rounds_s": list(timing.rounds_s),
            "bytes_per_s": self.work.bytes / timing.median_s,
            "flops_per_s": self.work.flops / timing.median_s,
            "share_of_roofline": self.floor_s / timing.median_s,
            "peer_over_this": {n: t.times(timing) for n, t in self.timed_peers.items()},
        }


def work_of(op: str, problem: Problem) -> Work:
    """Return the least work of a call, whichever kernel serves it."""
    return least_work(bind(ops()[op].signature, problem.operands, problem.numbers))


def measure(
    workload: Workload, candidates: Sequence[Candidate], hardware: Hardware, *, num_rounds: int
) -> Measurement:
    """Check all candidates on a workload, then time those that are right, in turn."""
    problems = [workload.build(hardware.device, seed) for seed in SEEDS]
    results: dict[str, Result] = {}
    rounds: dict[str, Round] = {}
    for candidate in candidates:
        found = try_candidate(candidate, workload.op, problems, hardware.l2_bytes)
        results[candidate.name] = found[0]
        if found[1] is not None:
            rounds[candidate.name] = found[1]
    clocks: dict[str, Clock] = {
        c.name: "host" if hardware.l2_bytes is None else c.clock for c in candidates
    }
    for name, seconds in interleave(rounds, num_rounds).items():
        timing = Timing(rounds_s=seconds, clock=clocks[name])
        results[name] = replace(results[name], timing=timing)
    for candidate in candidates:
        if candidate.name in rounds and candidate.spec is not None:
            counted = count(candidate.spec, workload)
            results[candidate.name] = replace(results[candidate.name], counted=counted)
    return Measurement(
        op=workload.op,
        workload=workload.name,
        hardware=hardware,
        work=work_of(workload.op, problems[0]),
        results=tuple(results.values()),
    )


def try_candidate(
    candidate: Candidate, op: str, problems: Sequence[Problem], l2_bytes: int | None
) -> tuple[Result, Round | None]:
    """Check a candidate and make it ready to be timed; what fails is said in its result."""
    result = Result(name=candidate.name, is_peer=candidate.is_peer)
    try:
        fault = fault_of(candidate, op, problems)
        if fault is not None:
            return replace(result, fault=fault), None
        return result, make_round(candidate, problems[0], l2_bytes)
    except Unserved as error:
        return replace(result, why_not=str(error)), None
    except (PagedError, torch.OutOfMemoryError) as error:
        return replace(result, fault=str(error)), None
    except Exception as error:
        # what other projects raise where they do not work is not for us to know
        if not candidate.is_peer:
            raise
        reason = (str(error).splitlines() or [""])[0]
        return replace(result, why_not=f"{type(error).__name__}: {reason[:200]}"), None
