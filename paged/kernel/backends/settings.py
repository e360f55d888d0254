"""How a launch is interpreted, with everything decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Guard = Literal["begin", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """See `InterpretConfig`.

    Attributes:
        seed: 64 bits; counts only where is_seeded.
        is_observed: the kernel tells of its accesses, and they are counted.
        is_sanitized: it tells of them, and they are judged; all blocks run on one OS thread.
        refuses_waits: a block that waits for another fails.

    """

    seed: int
    is_seeded: bool
    poison: int
    num_workers: int
    timeout_s: float
    guard: Guard
    is_observed: bool
    is_sanitized: bool = False
    refuses_waits: bool = False
