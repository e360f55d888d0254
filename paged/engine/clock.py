"""Clocks: simulated time that steps move, and the machine's own."""

from __future__ import annotations

import time
from typing import Protocol

from paged.errors import check


class Clock(Protocol):
    """What the engine reads the time from and adds the length of its steps to."""

    @property
    def now_s(self) -> float:
        """Seconds since the clock's origin; never decreases."""
        ...

    def advance(self, duration_s: float) -> None:
        """Let duration_s pass, if time does not pass by itself."""
        ...


class VirtualClock:
    """Time that passes only when told to, so a run repeats exactly."""

    def __init__(self, start_s: float = 0.0) -> None:
        self._now_s = start_s

    @property
    def now_s(self) -> float:
        """Seconds since the origin."""
        return self._now_s

    def advance(self, duration_s: float) -> None:
        """Move by duration_s. Raises IntegrityError if that is negative or NaN."""
        check(duration_s >= 0.0, f"a step lasts at least 0 s, got {duration_s}")
        self._now_s += duration_s

    def advance_to(self, time_s: float) -> None:
        """Move to time_s, or stay if it is past already (a driver's idle jump)."""
        self._now_s = max(self._now_s, time_s)


class WallClock:
    """The machine's monotonic clock, counted from the construction of this object."""

    def __init__(self) -> None:
        self._origin_s = time.monotonic()

    @property
    def now_s(self) -> float:
        """Seconds since construction."""
        return time.monotonic() - self._origin_s

    def advance(self, duration_s: float) -> None:
        """Do nothing: the step took its time already."""
