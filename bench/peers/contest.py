"""Rounds of all contestants in turn, and what comes of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

from bench.peer import PeerFailed
from bench.peers.entries import Entry
from bench.peers.load import PeerLoad

# Threads of a library that has just run spin for a fifth of a second or so.
PAUSE_S = 0.5
# Outputs of the warm-up are so many times shorter: a slow peer's batch takes minutes.
WARM_UP_SHARE = 8


class Asked(Protocol):
    """A running contestant: `bench.peer.Peer`."""

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Have one operation run and return its answer."""
        ...


@dataclass(slots=True, kw_only=True)
class Result:
    """What a contestant did: tokens/s of each round, in order.

    floor_tokens_per_s: what reading the weights once for each token would allow, measured
        beside each round of the single stream; ours only.
    bound_tokens_per_s: what the batch's multiply-adds alone would allow, all at the rate of
        registers, measured beside each round of the batch; ours only.
    """

    entry: Entry
    versions: dict[str, Any]
    batch_tokens_per_s: list[float] = field(default_factory=list[float])
    single_tokens_per_s: list[float] = field(default_factory=list[float])
    floor_tokens_per_s: list[float] = field(default_factory=list[float])
    bound_tokens_per_s: list[float] = field(default_factory=list[float])

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "bits": self.entry.bits,
            "flags": dict(self.entry.options),
            "versions": self.versions,
            "batch_tokens_per_s": self.batch_tokens_per_s,
            "single_tokens_per_s": self.single_tokens_per_s,
            "floor_tokens_per_s": self.floor_tokens_per_s,
            "bound_tokens_per_s": self.bound_tokens_per_s,
        }


class WrongOutput(RuntimeError):
    """A contestant drew another number of tokens than it was asked for."""


def run_round(asked: Asked, load: PeerLoad) -> float:
    """Run one round and return output tokens/s. Raises WrongOutput unless all were drawn."""
    answer = asked.ask("round", **load.as_dict())
    if answer["num_drawn"] != load.num_output_tokens:
        raise WrongOutput(
            f"expected {load.num_output_tokens} tokens, got {answer['num_drawn']}: this is no"
            " comparison; look at the worker's flags"
        )
    return load.num_output_tokens / answer["seconds"]


def measure(result: Result, asked: Asked, *, batch: PeerLoad, single: PeerLoad) -> None:
    """Run a round that counts: the batch, the single stream, and of ours what bounds either.

    Mutates: result. Raises: as `run_round`.
    """
    result.batch_tokens_per_s.append(run_round(asked, batch))
    result.single_tokens_per_s.append(run_round(asked, single))
    if result.entry.peer == "paged":
        floor = asked.ask("floor", **batch.as_dict())
        result.floor_tokens_per_s.append(1.0 / floor["read_s"])
        result.bound_tokens_per_s.append(batch.num_output_tokens / floor["compute_s"])


def run_contest(
    contestants: Sequence[tuple[Result, Asked]],
    *,
    batch: PeerLoad,
    single: PeerLoad,
    num_rounds: int,
    on_round: Callable[[str], object],
    pause_s: float = PAUSE_S,
) -> list[Result]:
    """Run every contestant once a round, each round starting with another one.

    A first, shorter round counts for nothing. on_round is told what is to run and what came of
    it, so that a contest broken off leaves its numbers. Whoever fails is out from then on.
    Returns the results of those that went through. Mutates: the results.
    """

    def warm_up(_: Result, asked: Asked) -> None:
        run_round(asked, single)
        run_round(asked, batch.shortened(WARM_UP_SHARE))

    def count(result: Result, asked: Asked) -> None:
        time.sleep(pause_s)
        measure(result, asked, batch=batch, single=single)
        drawn = f"batch {result.batch_tokens_per_s[-1]:.1f}"
        on_round(f"  {drawn}, single {result.single_tokens_per_s[-1]:.1f} tokens/s")

    stages = [("warm-up", warm_up), *((f"round {n + 1}", count) for n in range(num_rounds))]
    going = list(contestants)
    for number, (title, stage) in enumerate(stages):
        first = max(0, number - 1) % max(1, len(going))
        for each in (*going[first:], *going[:first]):
            name = each[0].entry.name
            on_round(f"{title}: {name}")
            try:
                stage(*each)
            except (PeerFailed, WrongOutput) as error:
                on_round(left_out(name, error))
                going.remove(each)
    return [result for result, _ in going]


def left_out(name: str, error: Exception) -> str:
    """Say in one line why a contestant takes no part: what failed, and its last words."""
    first, *rest = str(error).splitlines()
    return f"{name} is left out: {' '.join([first, *rest[-1:]])}"


def best_of(results: Sequence[Result], peer: str, *, bits: int | None = None) -> Result | None:
    """Return a peer's fastest configuration of the batch; None where it took no part."""
    own = [
        each
        for each in results
        if each.entry.peer == peer and (bits is None or each.entry.bits == bits)
    ]
    return max(own, key=lambda each: median(each.batch_tokens_per_s), default=None)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Ours over theirs: the median over rounds, each a pair run close together."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))
