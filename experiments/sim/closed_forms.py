"""What theory says a saturated pool holds, to test runs against and to size them.

A request stays for as many steps as it has output tokens, so what one sees at a random
instant is biased towards long outputs: every mean here is weighted by output length o.
"""

from __future__ import annotations

import numpy as np

from paged.types import IndexArray


def max_batch(capacity_slots: int, max_model_len: int) -> int:
    """Count the requests that fit when each reserves the longest length."""
    return capacity_slots // max_model_len


def reserved_fill(prompt_tokens: IndexArray, output_tokens: IndexArray) -> float:
    """Share of an exact reservation that holds tokens: E[o(p + o/2)] / E[o(p + o)].

    No allocator that reserves the final length at the start can do better.
    """
    p, o = prompt_tokens.astype(np.float64), output_tokens.astype(np.float64)
    return float(np.sum(o * (p + o / 2)) / np.sum(o * (p + o)))


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
