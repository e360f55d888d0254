"""Figures of a run: every record counts, and errors count as errors."""

from __future__ import annotations

import json

import pytest

from paged.loadgen.record import Record
from paged.loadgen.summary import Objective, Spread, lines_of, summarize


def _record(index: int, *, ttft_s: float = 0.1, error: str | None = None, n: int = 5) -> Record:
    due_s = float(index)
    return Record(
        index=index,
        due_s=due_s,
        sent_s=due_s + 0.01,
        first_s=due_s + ttft_s,
        end_s=due_s + ttft_s + 0.4,
        num_prompt_tokens=20,
        num_output_tokens=n,
        gaps_s=(0.1,) * (n - 1),
        error=error,
    )


RECORDS = [
    _record(0),
    _record(1, ttft_s=0.3),
    _record(2, error="HTTP 500: x"),
    _record(3, n=1),
    _record(4, error="HTTP 500: x"),
    _record(5, error="late"),
]


def test_times_and_rates_are_of_those_without_an_error() -> None:
    summary = summarize(RECORDS, Objective())
    assert (summary.num_requests, summary.num_errors) == (6, 3)
    assert summary.errors == {"HTTP 500: x": 2, "late": 1}
    assert summary.duration_s == pytest.approx(5.5)
    assert summary.requests_per_s == pytest.approx(3 / 5.5)
    assert summary.output_tokens_per_s == pytest.approx(11 / 5.5)
    assert summary.num_prompt_tokens == 60
    assert summary.ttft_s is not None
    assert (summary.ttft_s.max, summary.ttft_s.p50) == pytest.approx((0.3, 0.1))
    assert summary.lag_s is not None
    assert summary.lag_s.mean == pytest.approx(0.01)
    assert summary.gap_s is not None
    assert summary.gap_s.mean == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("objective", "num_good"),
    [
        (Objective(), 3),
        (Objective(ttft_s=0.2), 2),
        (Objective(tpot_s=0.05), 1),
        (Objective(latency_s=0.6), 2),
        (Objective(ttft_s=0.2, tpot_s=0.2, latency_s=0.6), 2),
        (Objective(ttft_s=0.01), 0),
    ],
    ids=str,
)
def test_good_requests_meet_all_that_is_asked_for(objective: Objective, num_good: int) -> None:
    summary = summarize(RECORDS, objective)
    assert summary.num_good == num_good
    assert summary.good_requests_per_s == pytest.approx(num_good / 5.5)


def test_a_spread_leaves_out_what_is_unknown() -> None:
    spread = Spread.of([None, *range(1, 102)])
    assert spread == Spread(mean=51.0, p50=51.0, p90=91.0, p95=96.0, p99=100.0, max=101.0)
    assert Spread.of([None]) is None


def test_a_run_of_nothing_but_errors_has_figures_too() -> None:
    summary = summarize([_record(0, error="x")], Objective())
    assert (summary.ttft_s, summary.requests_per_s) == (None, 0.0)
    assert json.loads(json.dumps(summary.as_dict()))["errors"] == {"x": 1}
    assert summarize([], Objective()).duration_s == 0.0


def test_the_text_has_all_errors_and_times_in_ms() -> None:
    lines = lines_of(summarize(RECORDS, Objective(ttft_s=0.2)))
    assert lines[0] == "6 requests in 5.50 s, 3 errors"
    assert lines[2] == "goodput 0.36 requests/s (33.3% met the objective)"
    without = lines_of(summarize(RECORDS, Objective()))
    assert without[2].endswith("(50.0% ended well; no --slo-* is given)")
    assert lines[4].split() == [
        "time",
        "to",
        "first",
        "token",
        "166.7",
        "100.0",
        "260.0",
        "296.0",
        "300.0",
    ]
    assert lines[-2:] == ["error, 2 times: HTTP 500: x", "error, 1 times: late"]
