"""Both ways of launching are told the same."""

from __future__ import annotations

from typing import Any

import pytest

from paged.kernel.backends.settings import Settings
from paged.kernel.backends.structures import Control, Request, launch_fields
from paged.kernel.launch import LaunchRequest

REQUEST = LaunchRequest(
    entry="f", grid=(2, 3, 4), block=(5, 6, 7), shared_bytes=8, arguments=(), pointers=()
)
SETTINGS = Settings(
    seed=9,
    is_seeded=True,
    poison=10,
    num_workers=11,
    timeout_s=12.0,
    guard="end",
    is_observed=True,
    is_sanitized=True,
    refuses_waits=True,
)


@pytest.mark.parametrize("kind", [Request, Control])
def test_a_launch_and_how_it_is_interpreted(kind: Any) -> None:
    told = kind(**launch_fields(REQUEST, SETTINGS))
    assert (tuple(told.grid), tuple(told.block), told.shared_bytes) == ((2, 3, 4), (5, 6, 7), 8)
    assert (told.seed, told.is_seeded, told.poison, told.num_workers) == (9, 1, 10, 11)
    assert (told.is_observed, told.is_sanitized, told.refuses_waits) == (1, 1, 1)
