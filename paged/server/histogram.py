"""Values by size, counted as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SECONDS = tuple(digit * 10.0**power for power in range(-4, 3) for digit in (1, 2, 5))
"""Bounds of buckets from 0.1 ms to 500 s."""

TOKENS = tuple(float(1 << power) for power in range(18))
"""Bounds of buckets from 1 to 131,072 tokens."""

_NUM_RECENT = 512
# numpy takes as long for so many values as for the few of one step.
_NUM_PENDING = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramState:
    """What a histogram holds at one moment.

    bounds: upper bounds of the buckets, the last of which is unbounded and not listed.
    counts: values in each bucket, one more than there are bounds.
    recent: the latest few hundred values, oldest first.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float
    recent: tuple[float, ...]

    @property
    def num_values(self) -> int:
        """Count the values of all buckets."""
        return sum(self.counts)

    def recent_quantiles(self, *shares: float) -> tuple[float | None, ...]:
        """Return quantiles of the latest values; None where there are none."""
        if not self.recent:
            return (None,) * len(shares)
        return tuple(np.quantile(self.recent, shares).tolist())


class Histogram:
    """Counts values in buckets, many at once: a few hundred after they came, and when asked."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = np.zeros(len(bounds) + 1, np.int64)
        self._total = 0.0
        self._recent: deque[float] = deque(maxlen=_NUM_RECENT)
        self._pending: list[float] = []

    def add(self, *values: float) -> None:
        """Count values. A value that equals a bound belongs below it."""
        self._pending.extend(values)
        if len(self._pending) >= _NUM_PENDING:
            self._count_pending()

    def _count_pending(self) -> None:
        places = np.searchsorted(self._bounds, self._pending)
        self._counts += np.bincount(places, minlength=len(self._counts))
        self._total += sum(self._pending)
        self._recent.extend(self._pending)
        self._pending.clear()

    def state(self) -> HistogramState:
        """Copy what it holds. Mutates: what has come since is counted."""
        self._count_pending()
        return HistogramState(
            bounds=self._bounds,
            counts=tuple(self._counts.tolist()),
            total=self._total,
            recent=tuple(self._recent),
        )
