"""Values by size, counted as they come."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

SECONDS = tuple(digit * 10.0**power for power in range(-4, 3) for digit in (1, 2, 5))
"""Bounds of buckets from 0.1 ms to 500 s."""

TOKENS = tuple(float(1 << power) for power in range(18))
"""Bounds of buckets from 1 to 131,072 tokens."""

_NUM_RECENT = 512


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
    """Counts values in buckets, many at once."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._bound_array = np.array(bounds, np.float64)
        self._counts = np.zeros(len(bounds) + 1, np.int64)
        self._total = 0.0
        self._recent: deque[float] = deque(maxlen=_NUM_RECENT)

    def add(self, values: FloatArray) -> None:
        """Count values. A value that equals a bound belongs below it."""
        places = np.searchsorted(self._bound_array, values)
        self._counts += np.bincount(places, minlength=len(self._counts))
        self._total += float(np.add.reduce(values))
        self._recent.extend(values.tolist())

    def add_one(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value
        self._recent.append(value)

    def state(self) -> HistogramState:
        """Copy what it holds."""
        return HistogramState(
            bounds=self._bounds,
            counts=tuple(self._counts.tolist()),
            total=self._total,
            recent=tuple(self._recent),
        )
