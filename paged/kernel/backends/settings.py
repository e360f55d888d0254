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

    """

    seed: int
    is_seeded: bool
    poison: int
    num_workers: int
    timeout_s: float
    guard: Guard
    is_observed: bool
