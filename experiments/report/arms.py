"""The allocators as a reader sees them: order, label, line, what they would need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

UNREACHABLE = "unreachable in practice"
ORACLE_NOTE = (
    "An oracle is told each request's true output length before the request starts. No server"
    " has that: arms named oracle are upper bounds for contiguous reservation,"
    " unreachable in practice."
)
POW2_NOTE = (
    "reserved-pow2 rounds the true output length up to a power of two, as the paper does,"
    " so it too is told that length, within a factor of two."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One allocator of an experiment.

    is_contiguous: it hands out address ranges, so its free space can be in holes.
    """

    name: str
    policy: str
    colour: str
    line: str
    marker: str
    is_contiguous: bool = False
    is_oracle: bool = False

    @property
    def tick_label(self) -> str:
        """Name for an axis; oracles say that they are out of reach."""
        return f"{self.name}\n({UNREACHABLE})" if self.is_oracle else self.name

    @property
    def label(self) -> str:
        """Name on one line; oracles say that they are out of reach."""
        return f"{self.name} ({UNREACHABLE})" if self.is_oracle else self.name


# From the most wasteful to the least: the order of bars, panels and table rows.
KNOWN_ARMS = (
    Arm(
        name="static",
        policy="max_model_len per request; a batch runs until its slowest request ends",
        colour="#555555",
        line=":",
        marker="x",
        is_contiguous=True,
    ),
    Arm(
        name="reserved-max",
        policy="one contiguous range of max_model_len per request, buddy allocator",
        colour="#D55E00",
        line="-",
        marker="s",
        is_contiguous=True,
    ),
    Arm(
        name="reserved-pow2",
        policy="prompt + true output rounded up to a power of two, buddy allocator",
        colour="#B8860B",
        line="--",
        marker="^",
        is_contiguous=True,
    ),
    Arm(
        name="reserved-oracle",
        policy="prompt + true output, buddy allocator",
        colour="#CC79A7",
        line="-.",
        marker="v",
        is_contiguous=True,
        is_oracle=True,
    ),
    Arm(
        name="reserved-oracle-first-fit",
        policy="prompt + true output, lowest hole that fits",
        colour="#882255",
        line=":",
        marker="<",
        is_contiguous=True,
        is_oracle=True,
    ),
    Arm(
        name="reserved-oracle-best-fit",
        policy="prompt + true output, smallest hole that fits",
        colour="#44227A",
        line="--",
        marker=">",
        is_contiguous=True,
        is_oracle=True,
    ),
    Arm(
        name="virtual",
        policy="contiguous virtual range, physical pages mapped on demand (vAttention)",
        colour="#009E73",
        line="-.",
        marker="D",
    ),
    Arm(
        name="paged",
        policy="fixed blocks on demand, any block anywhere (PagedAttention)",
        colour="#0072B2",
        line="-",
        marker="o",
    ),
)
_BY_NAME = {arm.name: arm for arm in KNOWN_ARMS}


def arm_named(name: str) -> Arm:
    """Describe an allocator; one this report does not know gets a neutral look."""
    neutral = Arm(name=name, policy="", colour="#111111", line="-", marker="*")
    return _BY_NAME.get(name, neutral)


def in_order(names: Iterable[str]) -> list[Arm]:
    """Describe each distinct allocator, most wasteful policy first, unknown ones last."""
    distinct = list(dict.fromkeys(names))
    known = [arm for arm in KNOWN_ARMS if arm.name in distinct]
    return known + [arm_named(name) for name in distinct if name not in _BY_NAME]
