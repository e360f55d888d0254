"""Our side and the rivals' of a race between a kernel and its peers on one workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from bench.compare import Comparison, Contestant, Rival, Times
from paged.kernel.backends.cuda_driver import why_unavailable
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.measure.bandwidth import Hardware, measure_hardware
from paged.kernel.measure.candidate import kernel_candidate
from paged.kernel.measure.counted import count
from paged.kernel.measure.measurement import SEEDS, Measurement, Result, try_candidate, work_of
from paged.kernel.measure.peers import peers_of
from paged.kernel.measure.timing import Round, Timing
from paged.kernel.measure.workloads import Workload, workloads_of
from paged.kernel.problem import Problem
from paged.kernel.registry import OP_NAMES, ops
from paged.kernel.variant import find_variant, shipped_variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A shipped kernel and a workload of its operation."""

    op: str
    variant: str
    workload: str
    device: str

    @property
    def label(self) -> str:
        """What a benchmark of it is called."""
        return f"{self.op}-{self.variant}-{self.workload}-{self.device}"


def devices() -> list[str]:
    """Return where kernels run here: in the interpreter, and on a GPU if there is one."""
    return ["cpu"] if why_unavailable() is not None else ["cpu", "cuda"]


def entries() -> list[Entry]:
    """Return every shipped kernel on every workload and device, workload by workload."""
    return [
        Entry(op=op, variant=variant, workload=workload, device=device)
        for device in devices()
        for op in OP_NAMES
        for workload in workloads_of(op, torch.device(device))
        for variant in shipped_variants(ops()[op])
    ]


@lru_cache(maxsize=2)
def hardware(device: str) -> Hardware:
    """Return a device with its limits, measured once in a run."""
    return measure_hardware(torch.device(device))


@lru_cache(maxsize=1)
def _problems(workload: Workload, device: str) -> list[Problem]:
    return [workload.build(torch.device(device), seed) for seed in SEEDS]


@lru_cache(maxsize=1)
def _peers(workload: Workload, device: str) -> list[tuple[Result, Round | None]]:
    problems, limits = _problems(workload, device), hardware(device)
    return [
        try_candidate(peer, workload.op, problems, limits.l2_bytes)
        for peer in peers_of(workload, limits.device)
    ]


@lru_cache(maxsize=64)
def _workload(op: str, name: str, device: str) -> Workload:
    return workloads_of(op, torch.device(device))[name]


class KernelRace:
    """A kernel and its peers; those that were right can be raced."""

    def __init__(self, entry: Entry) -> None:
        """Check the kernel and its peers."""
        self.entry = entry
        self._workload = _workload(entry.op, entry.workload, entry.device)
        self._limits = hardware(entry.device)
        self._spec = find_variant(ops()[entry.op], entry.variant).spec
        candidate = kernel_candidate(entry.variant, self._spec, InterpretConfig())
        self._problems = _problems(self._workload, entry.device)
        self.result, self._round = try_candidate(
            candidate, entry.op, self._problems, self._limits.l2_bytes
        )
        self.peers: Sequence[tuple[Result, Round | None]] = _peers(self._workload, entry.device)

    @property
    def contestant(self) -> Contestant:
        """Our side: each round times several calls itself."""
        assert self._round is not None, (
            f"{self.entry.label} was wrong, or does not serve its workload"
        )
        run, num_calls = self._round.run, self._round.num_calls
        return Contestant(prepare=lambda: None, run=lambda _: run(), work_per_round=num_calls)

    @property
    def rivals(self) -> dict[str, Rival]:
        """The peers' sides, scaled to as many calls as our rounds have."""
        num_calls = self.contestant.work_per_round
        return {r.name: _rival(run, num_calls) for r, run in self.peers if run is not None}

    def comparison(self, ours: Times, rivals: dict[str, Times]) -> Comparison:
        """Return the raced times with what the roofline needs."""
        timed = {self.entry.variant: ours, **rivals}
        counted = count(self._spec, self._workload)
        results = [replace(self.result, counted=counted), *(result for result, _ in self.peers)]
        measurement = Measurement(
            op=self.entry.op,
            workload=self.entry.workload,
            hardware=self._limits,
            work=work_of(self.entry.op, self._problems[0]),
            results=tuple(
                replace(r, timing=_timing(timed[r.name])) if r.name in timed else r for r in results
            ),
        )
        return Comparison(
            unit="call",
            ours=ours,
            rivals=rivals,
            notes={
                "rows": measurement.rows(),
                "hardware": self._limits.as_dict(),
                "bytes_over_minimum": counted.text,
            },
        )


def _timing(times: Times) -> Timing:
    return Timing(rounds_s=tuple(us / 1e6 for us in times.chunk_means_us), clock="host")


def _rival(peer: Round, num_calls: float) -> Rival:
    return lambda num_rounds: [1e6 * peer.call_s() * num_calls for _ in range(num_rounds)]
