"""What theory says a saturated pool holds, to size runs and to test them against.

A request stays for as many steps as it has output tokens, so what one sees at a random
instant is biased towards long outputs: every mean here is weighted by output length o.
"""

from __future__ import annotations

import numpy as np

from paged.types import IndexArray


def resident_tokens(prompt_tokens: IndexArray, output_tokens: IndexArray) -> float:
    """Mean tokens stored by a running request: E[o(p + o/2)] / E[o]."""
    p, o = prompt_tokens.astype(np.float64), output_tokens.astype(np.float64)
    return float(np.sum(o * (p + o / 2)) / np.sum(o))


def paged_batch(
    capacity_slots: int, block_size: int, prompt_tokens: IndexArray, output_tokens: IndexArray
) -> float:
    """Estimate the batch that fits on demand: capacity / (resident tokens + half a block)."""
    resident = resident_tokens(prompt_tokens, output_tokens) + block_size / 2
    return capacity_slots / resident
