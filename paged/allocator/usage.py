"""Slot classes: where every slot of the KV pool goes at one instant.

Source: the definitions follow the vLLM paper (SOSP'23, Figure 2), split further so
that the classes sum to the capacity of the pool.
"""

from __future__ import annotations

from dataclasses import dataclass

from paged.errors import check


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotUsage:
    """Slots of the pool by class, in slots (1 slot = K and V of one token).

    token: hold K and V of a live request; a shared block counts once.
    reserved: granted to a live request that will fill them before it ends.
    internal: granted to a live request that will never fill them.
    granted_unused: reserved + internal while final lengths are unknown, else 0.
    rounding: consumed by the allocator beyond what it granted (buddy round-up).
    cached_free: owned by nobody, kept because their contents or mapping may be reused.
    free: everything else.
    """

    capacity: int
    token: int
    reserved: int
    internal: int
    granted_unused: int
    rounding: int
    cached_free: int
    free: int

    def __post_init__(self) -> None:
        parts = self.classes()
        check(all(value >= 0 for value in parts.values()), f"negative slot class: {parts}")
        total = sum(parts.values())
        check(
            total == self.capacity,
            f"slot classes sum to {total}, capacity is {self.capacity}: {parts}",
        )

    def classes(self) -> dict[str, int]:
        """Slots by class name, in the order of the paper's stacked bars."""
        return {
            "token": self.token,
            "reserved": self.reserved,
            "internal": self.internal,
            "granted_unused": self.granted_unused,
            "rounding": self.rounding,
            "cached_free": self.cached_free,
            "free": self.free,
        }
