"""How a contest is shown: raw numbers and flags, then the goals of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.peers.contest import Result, best_of, ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A comparison that we set out for: `value` is to be at least `least`.

    bound: what `value` would be if our multiply-adds took no longer than registers allow and
    nothing else took any time; None where that was not measured.
    """

    text: str
    value: float
    least: float
    bound: float | None = None

    @property
    def line(self) -> str:
        """Say what came of it."""
        verdict = "met" if self.value >= self.least else "MISSED"
        bound = "" if self.bound is None else f" (arithmetic allows {self.bound:.2f})"
        return f"{self.text}: {self.value:.2f}, goal {self.least:g}: {verdict}{bound}"


# Peer, bits of both sides (None: our 16 bits beside its best), least ratio.
_GOALS = (("vllm", None, 5.0), ("transformers", None, 10.0), ("llama", 16, 1.0), ("llama", 8, 1.0))
SINGLE_SHARE = 0.7


def goals(results: Sequence[Result]) -> list[Goal]:
    """Hold our engine against each peer that took part, and against the floor."""
    found: list[Goal] = []
    for peer, bits, least in _GOALS:
        ours, theirs = best_of(results, "paged", bits=bits or 16), best_of(results, peer, bits=bits)
        if ours is not None and theirs is not None:
            text = f"{ours.entry.name} over {theirs.entry.name}, batch"
            value = ratio(ours.batch_tokens_per_s, theirs.batch_tokens_per_s)
            bounds = ours.bound_tokens_per_s
            bound = ratio(bounds, theirs.batch_tokens_per_s) if bounds else None
            found.append(Goal(text=text, value=value, least=least, bound=bound))
    for each in results:
        if each.floor_tokens_per_s:
            value = ratio(each.single_tokens_per_s, each.floor_tokens_per_s)
            text = f"{each.entry.name} over the floor, single stream"
            found.append(Goal(text=text, value=value, least=SINGLE_SHARE))
    return found


def lines(results: Sequence[Result], *, threads: int) -> list[str]:
    """Lay a contest out: medians, every round, flags, goals."""
    shown = [f"output tokens/s on {threads} threads; medians, then every round in order", ""]
    for each in results:
        shown.append(f"{each.entry.name:22} {_versions(each.versions)} {dict(each.entry.options)}")
        for kind in ("batch", "bound", "single", "floor"):
            rates: list[float] = getattr(each, f"{kind}_tokens_per_s")
            if rates:
                raw = " ".join(f"{rate:.1f}" for rate in rates)
                shown.append(f"  {kind:6} {median(rates):8.1f}   {raw}")
    return [*shown, "", *(goal.line for goal in goals(results))]


def _versions(versions: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
