"""What a kernel moves on a workload, counted in the interpreter, whatever device it is timed on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from paged.errors import PagedError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.measure.workloads import Build, Workload
from paged.kernel.spec import KernelSpec
from paged.kernel.traffic import Traffic, measure_traffic

_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The bytes that a kernel moved beside the least.

    Attributes:
        traffic: None where it could not be counted.
        is_smaller: whether a smaller call of the same shape was counted in the workload's place.
        why_not: why it could not be counted.

    """

    traffic: Traffic | None = None
    is_smaller: bool = False
    why_not: str | None = None

    @property
    def bytes_over_minimum(self) -> float | None:
        """Bytes moved over the least; None where they were not counted."""
        return None if self.traffic is None else self.traffic.bytes_over_minimum

    @property
    def text(self) -> str:
        """The ratio for a table, with a mark for a smaller call; empty where there is none."""
        ratio = self.bytes_over_minimum
        return "" if ratio is None else f"{'~' if self.is_smaller else ''}{ratio:.3g}"

    def row(self) -> dict[str, Any]:
        """Plain values for JSON."""
        if self.traffic is None:
            return {"bytes_over_minimum": None, "why_not_counted": self.why_not}
        return {
            "bytes_over_minimum": self.bytes_over_minimum,
            "counted_on": "a smaller call of the same shape" if self.is_smaller else "this call",
            "least_bytes": self.traffic.least_bytes,
            "sector_bytes": {each.operand: each.sector_bytes for each in self.traffic.operands},
        }


def count(spec: KernelSpec, workload: Workload) -> Counted:
    """Run a kernel once in the interpreter, on the workload or the smaller one it names."""
    smaller = workload.smaller
    try:
        traffic = _traffic(spec, workload.build if smaller is None else smaller)
    except PagedError as error:
        # a GPU may run what the interpreter cannot, or be at a machine without a compiler
        return Counted(why_not=str(error).splitlines()[0])
    return Counted(traffic=traffic, is_smaller=smaller is not None)


@lru_cache(maxsize=64)
def _traffic(spec: KernelSpec, build: Build) -> Traffic:
    """Count a call; workloads that differ in length alone have one smaller call between them."""
    problem = build(torch.device("cpu"), _SEED)
    return measure_traffic(spec, *problem.operands, interpret=InterpretConfig(), **problem.numbers)
