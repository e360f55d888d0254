"""An arm's measured run beside the simulated one."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from experiments.live.shares import mean_batch, shares_of, tokens_per_s
from experiments.live.steps import Steps
from paged.errors import check

Cell = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One arm on the load of one seed.

    rounds_s: time of each run; `measured` has the medians of each step's times.
    first_scored: steps before it were fitted, and are not held against the prediction.
    """

    allocator: str
    batching: str
    seed: int
    rounds_s: tuple[float, ...]
    measured: Steps
    predicted: Steps
    first_scored: int

    def __post_init__(self) -> None:
        check(
            self.predicted.has_work_of(self.measured),
            f"{self.allocator}: the simulation scheduled other steps than the real engine",
        )

    def row(self) -> dict[str, Cell]:
        """Lay the trial out by column, in the order of the CSV."""
        scored = slice(self.first_scored, None)
        measured, predicted = self.measured.part(scored), self.predicted.part(scored)
        rate, batch = tokens_per_s(measured), mean_batch(measured)
        predicted_rate, predicted_batch = tokens_per_s(predicted), mean_batch(predicted)
        return {
            "allocator": self.allocator,
            "batching": self.batching,
            "seed": self.seed,
            "tokens_per_s": tokens_per_s(self.measured),
            "mean_batch": mean_batch(self.measured),
            **asdict(shares_of(self.measured)),
            "num_steps": len(self.measured),
            "preemptions": int(self.measured.work["preempted"].sum()),
            "first_scored_step": self.first_scored,
            "scored_tokens_per_s": rate,
            "predicted_tokens_per_s": predicted_rate,
            "rate_difference_pct": 100.0 * (predicted_rate / rate - 1.0),
            "scored_mean_batch": batch,
            "predicted_mean_batch": predicted_batch,
            "batch_difference_pct": 100.0 * (predicted_batch / batch - 1.0),
        }
