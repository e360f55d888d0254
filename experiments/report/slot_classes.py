"""The slot classes as a reader sees them: column, label, colour, definition."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotClass:
    """One class of KV slots; every slot of the pool is in exactly one.

    ink: colour of text written on a patch of `colour`.
    """

    column: str
    label: str
    colour: str
    ink: str
    definition: str


# Colours: Okabe and Ito's palette, told apart with any common colour blindness;
# neighbours in a stack also differ in lightness.
SLOT_CLASSES = (
    SlotClass(
        column="token_pct",
        label="token states",
        colour="#0072B2",
        ink="white",
        definition="Slots that hold K and V of a live request. A shared block counts once."
        " This is the only useful class.",
    ),
    SlotClass(
        column="reserved_pct",
        label="reserved",
        colour="#7CC4EE",
        ink="#111111",
        definition="Granted to a live request that will fill them before it ends:"
        " min(final, granted) - used.",
    ),
    SlotClass(
        column="internal_pct",
        label="internal fragmentation",
        colour="#D55E00",
        ink="white",
        definition="Granted to a live request that will never fill them: max(0, granted - final).",
    ),
    SlotClass(
        column="rounding_pct",
        label="rounding",
        colour="#F5C04A",
        ink="#111111",
        definition="Consumed by the allocator beyond what it granted (buddy round-up):"
        " span - granted. The paper counts it as external fragmentation.",
    ),
    SlotClass(
        column="cached_free_pct",
        label="cached free",
        colour="#009E73",
        ink="white",
        definition="Owned by no request, kept because contents or mapping may be reused.",
    ),
    SlotClass(
        column="free_pct",
        label="free",
        colour="#DDDDDD",
        ink="#111111",
        definition="Everything else. While a request waits for memory, these are slots that"
        " the allocator cannot give it: holes too small for a range (external"
        " fragmentation), or blocks that the watermark keeps back.",
    ),
)

CLASS_COLUMNS = tuple(one.column for one in SLOT_CLASSES)
