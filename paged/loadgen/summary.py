"""Figures of a whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from paged.loadgen.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What a request must keep to be good, in seconds; None asks nothing."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    latency_s: float | None = None

    def is_met(self, record: Record) -> bool:
        """Say whether a request ended well and in time."""
        pairs = (
            (record.ttft_s, self.ttft_s),
            (record.tpot_s, self.tpot_s),
            (record.latency_s, self.latency_s),
        )
        return record.error is None and all(
            most_s is None or value_s is None or value_s <= most_s for value_s, most_s in pairs
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How values are distributed."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float

    @staticmethod
    def of(values: Iterable[float | None]) -> Spread | None:
        """Describe those that are known; None where none is."""
        known = np.array([value for value in values if value is not None])
        if not len(known):
            return None
        p50, p90, p95, p99 = np.percentile(known, [50, 90, 95, 99]).tolist()
        return Spread(
            mean=float(known.mean()), p50=p50, p90=p90, p95=p95, p99=p99, max=float(known.max())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All of a run. Times and rates are of requests without an error, and errors are counted.

    duration_s: from the first arrival to the last end.
    good: requests that met the objective. errors: how many, by what they say.
    lag_s: from a request's time to when it was sent: the load generator's own delay. None
        where requests have no times.
    """

    num_requests: int
    num_errors: int
    num_good: int
    duration_s: float
    num_prompt_tokens: int
    num_output_tokens: int
    ttft_s: Spread | None
    tpot_s: Spread | None
    gap_s: Spread | None
    latency_s: Spread | None
    normalized_s: Spread | None
    lag_s: Spread | None
    objective: Objective
    errors: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def requests_per_s(self) -> float:
        """Requests without an error."""
        return self._rate(self.num_requests - self.num_errors)

    @property
    def good_requests_per_s(self) -> float:
        """Goodput."""
        return self._rate(self.num_good)

    @property
    def output_tokens_per_s(self) -> float:
        """Tokens of requests without an error."""
        return self._rate(self.num_output_tokens)

    def as_dict(self) -> dict[str, object]:
        """Return all of it, for JSON."""
        rates = ("requests_per_s", "good_requests_per_s", "output_tokens_per_s")
        return asdict(self) | {name: getattr(self, name) for name in rates}

    def _rate(self, count: int) -> float:
        return count / self.duration_s if self.duration_s > 0 else 0.0


def summarize(records: Sequence[Record], objective: Objective) -> Summary:
    """Summarise a run."""
    well = [record for record in records if record.error is None]
    failed = Counter(record.error for record in records if record.error is not None)
    start_s = min((record.start_s for record in records), default=0.0)
    return Summary(
        num_requests=len(records),
        num_errors=len(records) - len(well),
        num_good=sum(map(objective.is_met, records)),
        duration_s=max((record.end_s for record in records), default=0.0) - start_s,
        num_prompt_tokens=sum(record.num_prompt_tokens or 0 for record in well),
        num_output_tokens=sum(record.num_output_tokens for record in well),
        ttft_s=Spread.of(record.ttft_s for record in well),
        tpot_s=Spread.of(record.tpot_s for record in well),
        gap_s=Spread.of(gap_s for record in well for gap_s in record.gaps_s),
        latency_s=Spread.of(record.latency_s for record in well),
        normalized_s=Spread.of(record.normalized_s for record in well),
        lag_s=Spread.of(
            None if record.due_s is None else record.sent_s - record.due_s for record in records
        ),
        objective=objective,
        errors=dict(failed.most_common()),
    )


def lines_of(summary: Summary) -> list[str]:
    """Lay a summary out as text, times in ms."""
    names = {
        "ttft_s": "time to first token",
        "tpot_s": "time per output token",
        "gap_s": "inter-token latency",
        "latency_s": "end to end",
        "normalized_s": "end to end per token",
        "lag_s": "sent after its time",
    }
    good = summary.num_good / summary.num_requests if summary.num_requests else 0.0
    has_objective = summary.objective != Objective()
    met = "met the objective" if has_objective else "ended well; no --slo-* is given"
    lines = [
        f"{summary.num_requests} requests in {summary.duration_s:.2f} s,"
        f" {summary.num_errors} errors",
        f"{summary.requests_per_s:.2f} requests/s,"
        f" {summary.output_tokens_per_s:.1f} output tokens/s",
        f"goodput {summary.good_requests_per_s:.2f} requests/s ({good:.1%} {met})",
        f"{'ms':<22}" + "".join(f"{name:>10}" for name in ("mean", "p50", "p90", "p99", "max")),
    ]
    for name, text in names.items():
        spread: Spread | None = getattr(summary, name)
        if spread is not None:
            values = (spread.mean, spread.p50, spread.p90, spread.p99, spread.max)
            lines.append(f"{text:<22}" + "".join(f"{value * 1e3:>10.1f}" for value in values))
    return lines + [f"error, {count} times: {text}" for text, count in summary.errors.items()]
