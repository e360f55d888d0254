"""Clocks: virtual time moves only when told, wall time only by itself."""

from __future__ import annotations

import pytest

from paged.engine.clock import VirtualClock, WallClock
from paged.errors import IntegrityError


def test_virtual_time_is_the_sum_of_what_it_was_told() -> None:
    clock = VirtualClock(start_s=2.0)
    clock.advance(0.5)
    clock.advance(0.0)
    assert clock.now_s == 2.5


def test_virtual_clock_jumps_forward_and_never_back() -> None:
    clock = VirtualClock()
    clock.advance_to(3.0)
    assert clock.now_s == 3.0
    clock.advance_to(1.0)
    assert clock.now_s == 3.0


@pytest.mark.parametrize("duration_s", [-1e-9, float("nan")])
def test_a_step_of_impossible_length_is_refused(duration_s: float) -> None:
    clock = VirtualClock(start_s=1.0)
    with pytest.raises(IntegrityError, match="at least 0 s"):
        clock.advance(duration_s)
    assert clock.now_s == 1.0


def test_wall_clock_starts_at_zero_and_ignores_advance() -> None:
    clock = WallClock()
    before_s = clock.now_s
    clock.advance(1000.0)
    assert 0.0 <= before_s <= clock.now_s < 1000.0
