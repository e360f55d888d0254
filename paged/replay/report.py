"""A replay in words and as data: all calls together, and the worst of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from paged.replay.replay import StepOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of all calls that were replayed. kernel, other: their names."""

    kernel: str
    other: str | None
    outcomes: Sequence[StepOutcome]

    @property
    def faults(self) -> list[StepOutcome]:
        """Calls in which the kernel was wrong or failed."""
        return [each for each in self.outcomes if each.fault is not None]

    def worst(self, measure: Callable[[StepOutcome], float | None]) -> StepOutcome | None:
        """Return the call for which a measure is largest; None where no call has it."""
        known = [each for each in self.outcomes if measure(each) is not None]
        return max(known, key=lambda each: measure(each) or 0.0, default=None)

    def lines(self) -> list[str]:
        """Say it: right or wrong, then error, difference and time, each with its worst call."""
        served = [each for each in self.outcomes if each.why_not is None]
        lines = [f"{self.kernel}: wrong in {len(self.faults)} of {len(served)} calls"]
        if not self.faults:
            lines = [f"{self.kernel}: right in all {len(served)} calls, by the reference"]
        lines += [line for each in self.faults[:_MOST_FAULTS] for line in _fault_lines(each)]
        if len(self.faults) > _MOST_FAULTS:
            lines.append(f"  and {len(self.faults) - _MOST_FAULTS} more")
        left_out = [each for each in self.outcomes if each.why_not is not None]
        if left_out:
            first = left_out[0]
            lines.append(f"  {len(left_out)} calls not served: {first.text}: {first.why_not}")
        if (worst := self.worst(lambda each: each.error or None)) is not None:
            lines.append(f"  largest error {worst.error:.3g}, in {worst.text}")
        return [*lines, *self._bytes(served), *self._difference(served), *self._time(served)]

    def _bytes(self, served: Sequence[StepOutcome]) -> list[str]:
        worst = self.worst(lambda each: each.bytes_over_minimum)
        if worst is None:
            return []
        counted = [each.traffic for each in served if each.traffic is not None]
        moved = sum(each.sector_bytes for each in counted)
        least = sum(each.least_bytes for each in counted)
        return [
            f"  moves {moved / least:.3g} times the least bytes in all, at worst"
            f" {worst.bytes_over_minimum:.3g} times, in {worst.text}"
        ]

    def _difference(self, served: Sequence[StepOutcome]) -> list[str]:
        worst = self.worst(lambda each: each.difference)
        if worst is None:
            return []
        num_equal = sum(each.is_equal for each in served)
        if num_equal == len(served):
            return [f"  equal to {self.other} in all {len(served)} calls, bit for bit"]
        return [
            f"  equal to {self.other} in {num_equal} of {len(served)} calls, bit for bit",
            f"  largest difference to {self.other} {worst.difference:.3g}, in {worst.text}",
        ]

    def _time(self, served: Sequence[StepOutcome]) -> list[str]:
        times = [each.times for each in served if each.times is not None]
        worst = self.worst(lambda each: None if each.times is None else each.times.ratio)
        if worst is None or worst.times is None:
            return []
        kernel_s = sum(each.kernel.median_s for each in times)
        other_s = sum(each.other.median_s for each in times)
        return [
            f"  time in all {_seconds(kernel_s)}, {self.other} {_seconds(other_s)}: "
            f"{kernel_s / other_s:.3g} times as long",
            f"  worst {worst.times.ratio:.3g} times as long"
            f" ({_seconds(worst.times.kernel.median_s)}), in {worst.text}",
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Plain values for JSON, a row for each call."""
        return [_row(each) for each in self.outcomes]


_MOST_FAULTS = 5


def _fault_lines(outcome: StepOutcome) -> list[str]:
    first, *rest = (outcome.fault or "").splitlines() or [""]
    return [f"  WRONG  {outcome.text}: {first}", *(f"         {line}" for line in rest)]


def _row(outcome: StepOutcome) -> dict[str, Any]:
    times = outcome.times
    return {
        **{name: getattr(outcome, name) for name in ("step", "text", "fault", "why_not", "error")},
        "difference": outcome.difference,
        "is_equal": outcome.is_equal,
        "bytes_over_minimum": outcome.bytes_over_minimum,
        "kernel_s": None if times is None else times.kernel.median_s,
        "other_s": None if times is None else times.other.median_s,
    }


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1.0 else f"{seconds * 1e6:.4g} us"
