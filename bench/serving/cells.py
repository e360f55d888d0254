"""What is measured of each contestant, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Any

from bench.peer import Peer
from bench.serving.load import Load, Seen

_NUM_STREAMS = 64
_STEP_S = 0.02


def _load(num_requests: int, output_tokens: int, *, streams: bool, step_s: float) -> Load:
    return Load(
        num_streams=_NUM_STREAMS,
        num_requests=num_requests,
        output_tokens=output_tokens,
        is_streamed=streams,
        step_s=step_s,
    )


LOADS: dict[str, Load] = {
    "request": _load(1024, 1, streams=False, step_s=_STEP_S),
    "opening": _load(1024, 1, streams=True, step_s=_STEP_S),
    "stream": _load(128, 65, streams=True, step_s=_STEP_S),
    "flood": _load(192, 65, streams=True, step_s=0.0),
}
"""request, opening: whole answers of a token, and streams of one; stream: of many. Their steps
leave time for each token to be sent by itself. flood: an engine that is always ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one load, once. cpu_s: of all threads of the contestant."""

    cpu_s: float
    seconds: float
    delays_s: tuple[float, ...] = ()


Costs = Mapping[str, list[Cost]]
"""Of each load, by its name, one for each round."""


def run_engine(peer: Peer, load: Load) -> Cost:
    """Run a load without HTTP."""
    peer.ask("step", step_s=load.step_s)
    return Cost(**peer.ask("load", **asdict(load)))


def run_server(peer: Peer, load: Load, send: Callable[[Load], Seen]) -> Cost:
    """Run a load over HTTP."""
    peer.ask("step", step_s=load.step_s)
    begin_s = peer.ask("cpu")["cpu_s"]
    seen = send(load)
    cpu_s = peer.ask("cpu")["cpu_s"] - begin_s
    return Cost(cpu_s=cpu_s, seconds=seen.seconds, delays_s=tuple(seen.delays_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """What a server costs beside the engine; medians of rounds.

    request_us, token_us: processor time of a whole answer's request, and of one more token of a
        stream. tokens_per_s: of the flood. delay_ms: of a piece after its step; last_delay_ms:
        which 99 of 100 pieces stay below.
    """

    request_us: float
    token_us: float
    tokens_per_s: float
    delay_ms: float
    last_delay_ms: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def overhead(server: Costs, engine: Costs | None) -> Overhead:
    """Take the engine's part out of a server's costs. engine: None where it has none."""
    spent_s = {
        name: [
            cost.cpu_s - (0.0 if engine is None else engine[name][place].cpu_s)
            for place, cost in enumerate(costs)
        ]
        for name, costs in server.items()
    }
    opening, stream, flood = (LOADS[name] for name in ("opening", "stream", "flood"))
    num_tokens = stream.num_tokens - stream.num_requests
    token_s = [
        (all_s - opened_s * stream.num_requests / opening.num_requests) / num_tokens
        for all_s, opened_s in zip(spent_s["stream"], spent_s["opening"], strict=True)
    ]
    delays_s = [delay_s for cost in server["stream"] for delay_s in cost.delays_s]
    return Overhead(
        request_us=1e6 * median(spent_s["request"]) / LOADS["request"].num_requests,
        token_us=1e6 * median(token_s),
        tokens_per_s=flood.num_tokens / median(cost.seconds for cost in server["flood"]),
        delay_ms=1e3 * median(delays_s),
        last_delay_ms=1e3 * quantiles(delays_s, n=100)[-1],
    )
