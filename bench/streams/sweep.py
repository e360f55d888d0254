"""Rounds of all servers in turn, at each number of streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.peers.load import VOCAB_SIZE
from bench.streams.servers import ServerKind
from paged.loadgen.client import Target
from paged.loadgen.load import Load, fixed_lengths, run_load
from paged.loadgen.prompts import Prompts
from paged.loadgen.server import find_model
from paged.loadgen.summary import Objective, Summary

PROMPT_TOKENS = 128
OUTPUT_TOKENS = 64
REQUESTS_PER_STREAM = 2
LEAST_REQUESTS = 4
# A server may close a connection just as it is used again, which says nothing about its speed.
MOST_TRIES = 3
# Greedy, to the last token, and nothing of one prompt kept for another.
BODY = {"temperature": 0.0, "ignore_eos": True, "cache_prompt": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one round at one number of streams came to."""

    output_tokens_per_s: float
    ttft_p50_s: float
    gap_p50_s: float
    gap_p99_s: float


@dataclass(slots=True, kw_only=True)
class Curve:
    """What a server did. points: of each number of streams, one a round."""

    kind: ServerKind
    points: dict[int, list[Point]] = field(default_factory=dict[int, list[Point]])

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        points = {str(n): [asdict(each) for each in seen] for n, seen in self.points.items()}
        return {"bits": self.kind.bits, "flags": list(self.kind.flags), "points": points}


class RequestsFailed(RuntimeError):
    """A server answered some of the load with errors, so that its numbers mean nothing."""


Measure = Callable[[str, int, int], Point]


def measure(url: str, num_streams: int, seed: int) -> Point:
    """Have so many streams run, each sending request after request.

    seed: of the prompts; another one each time, or a prefix cache would have seen them.
    Raises RequestsFailed if any request failed or was cut short.
    """
    count = max(LEAST_REQUESTS, REQUESTS_PER_STREAM * num_streams)
    workload = fixed_lengths(PROMPT_TOKENS, OUTPUT_TOKENS)(seed, count)
    load = Load(
        workload=workload,
        prompts=Prompts(workload, seed=seed, vocab_size=VOCAB_SIZE),
        arrivals=None,
        max_concurrency=num_streams,
    )
    # llama.cpp's server closes connections that wait for its turn, as the next request comes.
    target = find_model(Target(url=url, model="", extra=BODY, keeps_connections=False))
    return point_of(run_load(load, target, Objective()).summary, count)


def point_of(summary: Summary, num_requests: int) -> Point:
    """Take of a summary what is compared. Raises RequestsFailed."""
    if summary.num_errors or summary.num_output_tokens != num_requests * OUTPUT_TOKENS:
        raise RequestsFailed(
            f"expected {num_requests} x {OUTPUT_TOKENS} tokens, got {summary.num_output_tokens}"
            f" and {summary.num_errors} errors: {dict(summary.errors)}"
        )
    if summary.ttft_s is None or summary.gap_s is None:
        raise RequestsFailed("expected streams of several pieces, got none: no times to compare")
    return Point(
        output_tokens_per_s=summary.output_tokens_per_s,
        ttft_p50_s=summary.ttft_s.p50,
        gap_p50_s=summary.gap_s.p50,
        gap_p99_s=summary.gap_s.p99,
    )


def run_sweep(
    servers: Sequence[tuple[Curve, str]],
    *,
    streams: Sequence[int],
    num_rounds: int,
    on_point: Callable[[str], object],
    measure: Measure = measure,
) -> None:
    """Ask every server in turn, at each number of streams, round after round.

    servers: each with its url. A first, uncounted round at the most streams warms them up.
    Each round starts with another server. A point that fails is measured again.
    Raises: RequestsFailed if it goes on failing. Mutates: the curves.
    """
    for curve, url in servers:
        on_point(f"warm-up: {curve.kind.name}")
        measure(url, max(streams), 0)
    seed = 0
    for number in range(num_rounds):
        first = number % len(servers)
        for count in streams:
            for curve, url in (*servers[first:], *servers[:first]):
                seed, point = _try(measure, url, count, seed + 1)
                curve.points.setdefault(count, []).append(point)
                on_point(
                    f"round {number + 1}, {count} streams, {curve.kind.name}:"
                    f" {point.output_tokens_per_s:.1f} tokens/s"
                )


def _try(measure: Measure, url: str, num_streams: int, seed: int) -> tuple[int, Point]:
    """Return a point and the last seed that was used, for prompts are never the same."""
    for last in range(seed, seed + MOST_TRIES - 1):
        try:
            return last, measure(url, num_streams, last)
        except RequestsFailed:
            continue
    last = seed + MOST_TRIES - 1
    return last, measure(url, num_streams, last)
