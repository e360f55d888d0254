"""Rounds of servers interleave, and a load that fails is no measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.streams.report import lines, losses
from bench.streams.servers import KINDS
from bench.streams.sweep import OUTPUT_TOKENS, Curve, Point, RequestsFailed, point_of, run_sweep
from paged.loadgen.record import Record
from paged.loadgen.summary import Objective, Summary, summarize

OURS, THEIRS = KINDS[0], KINDS[1]


def point(rate: float) -> Point:
    return Point(output_tokens_per_s=rate, ttft_p50_s=0.02, gap_p50_s=0.01, gap_p99_s=0.03)


def summary(num_output_tokens: int, error: str | None = None) -> Summary:
    record = Record(
        index=0,
        due_s=None,
        sent_s=0.0,
        first_s=0.5,
        end_s=2.0,
        num_prompt_tokens=128,
        num_output_tokens=num_output_tokens,
        gaps_s=(0.1, 0.3),
    )
    return summarize([record, replace(record, index=1, error=error)], Objective())


def test_rounds_start_with_another_server_and_prompts_are_never_the_same() -> None:
    asked: list[tuple[str, int, int]] = []

    def measure(url: str, num_streams: int, seed: int) -> Point:
        asked.append((url, num_streams, seed))
        return point(10.0 * num_streams if url == "a" else 8.0 * num_streams)

    ours, theirs = Curve(kind=OURS), Curve(kind=THEIRS)
    run_sweep(
        [(ours, "a"), (theirs, "b")],
        streams=(1, 2),
        num_rounds=2,
        on_point=lambda _: None,
        measure=measure,
    )
    warm_up, counted = asked[:2], asked[2:]
    assert warm_up == [("a", 2, 0), ("b", 2, 0)]
    assert [url for url, _, _ in counted] == ["a", "b", "a", "b", "b", "a", "b", "a"]
    for url in "ab":
        seeds = [seed for each, _, seed in asked if each == url]
        assert len(set(seeds)) == len(seeds)
    assert [each.output_tokens_per_s for each in ours.points[2]] == [20.0, 20.0]
    shown = "\n".join(lines([ours, theirs], threads=2, rounds=2))
    assert "| 2 | 20.0 | 16.0 | 1.25 | 20 | 20 | 10.0 | 10.0 |" in shown
    assert not losses([ours, theirs])


def test_a_point_that_fails_is_measured_again_and_not_for_ever() -> None:
    asked: list[int] = []

    def measure(url: str, num_streams: int, seed: int) -> Point:
        asked.append(seed)
        if url == "broken" and seed:
            raise RequestsFailed("a connection was closed")
        return point(10.0)

    options = {"num_rounds": 1, "on_point": lambda _: None, "measure": measure}
    curve = Curve(kind=OURS)
    with pytest.raises(RequestsFailed):
        run_sweep([(curve, "broken")], streams=(1,), **options)  # type: ignore[arg-type]
    assert asked == [0, 1, 2, 3]
    run_sweep([(curve, "a")], streams=(1,), **options)  # type: ignore[arg-type]
    assert len(curve.points[1]) == 1


def test_losses_are_named() -> None:
    ours, theirs = Curve(kind=OURS), Curve(kind=THEIRS)
    ours.points, theirs.points = (
        {1: [point(8.0)], 4: [point(20.0)]},
        {
            1: [point(10.0)],
            4: [point(10.0)],
        },
    )
    assert losses([ours, theirs]) == ["paged-bfloat16 loses to llama-f16 at 1 streams: 0.80"]


def test_all_tokens_and_no_errors_are_a_point() -> None:
    assert point_of(summary(OUTPUT_TOKENS), 2).output_tokens_per_s == OUTPUT_TOKENS
    with pytest.raises(RequestsFailed, match="2 x 64 tokens, got 126"):
        point_of(summary(OUTPUT_TOKENS - 1), 2)
    with pytest.raises(RequestsFailed, match=r"1 errors.*refused"):
        point_of(summary(OUTPUT_TOKENS, error="refused"), 2)
