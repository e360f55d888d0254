"""How a sweep is shown: a table for each width of weights, ours beside theirs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.streams.sweep import OUTPUT_TOKENS, PROMPT_TOKENS, Curve, Point

HEAD = "| streams | {ours} tokens/s | {theirs} tokens/s | ratio | TTFT ms | | ITL p50 ms | |"


def lines(curves: Sequence[Curve], *, threads: int, rounds: int) -> list[str]:
    """Lay a sweep out as Markdown; the ratio is the median of the rounds' ratios."""
    shown = [
        f"{PROMPT_TOKENS} prompt and {OUTPUT_TOKENS} output tokens, {threads} threads,"
        f" medians of {rounds} rounds; in pairs of columns ours comes first"
    ]
    for own, other in _pairs(curves):
        shown += ["", HEAD.format(ours=own.kind.name, theirs=other.kind.name)]
        shown.append("|" + "--:|" * 8)
        shown += [_row(count, own.points[count], other.points[count]) for count in own.points]
    return shown


def ratio(own: Sequence[Point], other: Sequence[Point]) -> float:
    """Ours over theirs in tokens/s: the median over rounds, each a pair run close together."""
    pairs = zip(own, other, strict=True)
    return median(a.output_tokens_per_s / b.output_tokens_per_s for a, b in pairs)


def losses(curves: Sequence[Curve]) -> list[str]:
    """Name every number of streams at which the other server at equal bits was faster."""
    found: list[str] = []
    for own, other in _pairs(curves):
        for count, points in own.points.items():
            value = ratio(points, other.points[count])
            if value < 1.0:
                names = f"{own.kind.name} loses to {other.kind.name}"
                found.append(f"{names} at {count} streams: {value:.2f}")
    return found


def _pairs(curves: Sequence[Curve]) -> list[tuple[Curve, Curve]]:
    """Pair ours with theirs at equal bits, the widest weights first."""
    pairs = [
        (own, other)
        for own in curves
        for other in curves
        if own.kind.peer == "paged" and other.kind.peer != "paged"
        if own.kind.bits == other.kind.bits
    ]
    return sorted(pairs, key=lambda pair: -pair[0].kind.bits)


def _row(count: int, own: Sequence[Point], other: Sequence[Point]) -> str:
    cells = [str(count)]
    cells += [f"{median(p.output_tokens_per_s for p in each):.1f}" for each in (own, other)]
    cells.append(f"{ratio(own, other):.2f}")
    cells += [f"{1e3 * median(p.ttft_p50_s for p in each):.0f}" for each in (own, other)]
    cells += [f"{1e3 * median(p.gap_p50_s for p in each):.1f}" for each in (own, other)]
    return "| " + " | ".join(cells) + " |"
