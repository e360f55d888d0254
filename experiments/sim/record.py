"""What one simulated run leaves behind: arrays by step and by request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]

CLASSES = ("token", "reserved", "internal", "rounding", "cached_free", "free")
"""Slot classes in the order of the paper's stacked bars (paged.allocator.usage)."""

STEP_COLUMNS = (
    "start_s",
    "duration_s",
    *CLASSES,
    "running",
    "waiting",
    "is_memory_blocked",
    "preempted",
    "recomputed_tokens",
    "computed_tokens",
    "new_tokens",
)
REQUEST_COLUMNS = (
    "arrival_s",
    "admitted_s",
    "first_token_s",
    "finished_s",
    "output_tokens",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoleSamples:
    """Free runs of a contiguous allocator, looked at every few steps.

    step[samples]: step index of the sample; it stands for the steps up to the next one.
    index[samples]: external fragmentation index, 1 - largest free run / total free.
    counts[samples, bins]: free runs of [2**bin, 2**(bin + 1)) blocks.
    """

    step: NDArray[np.int64]
    index: Column
    counts: NDArray[np.float64]

    def weigh(self, weights: Column) -> Column:
        """Give each sample the weight of the steps it stands for, [samples]."""
        return np.add.reduceat(weights, self.step)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One simulated run, every step of it.

    steps: STEP_COLUMNS, [steps] each. Steps follow each other without a gap; a stretch
        in which nothing ran is a step with running = 0. Classes are in slots.
    requests: REQUEST_COLUMNS, [completed requests] each, in order of completion.
    holes: None for an allocator whose free space has no addresses.
    """

    capacity_slots: int
    block_size: int
    steps: dict[str, Column]
    requests: dict[str, Column]
    holes: HoleSamples | None
