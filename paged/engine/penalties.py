"""Logits changed by what was said before, and by what may be said.

The order of penalties is vLLM's: repetition, then frequency and presence. Only tokens that occurred
are touched, so the cost is that of the texts and not of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from paged.engine.sample_rows import Entries, FloatArray, History, Masks
from paged.types import IndexArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenCounts:
    """Distinct tokens of several histories.

    places[C]: which history; tokens[C]; num_in_output[C]: how often the output has it, 0
    for a token of the prompt alone.
    """

    places: IndexArray
    tokens: IndexArray
    num_in_output: IndexArray


def count_tokens(history: History) -> TokenCounts:
    """Count each distinct token of each history. O(tokens log tokens), in numpy."""
    num_tokens = history.num_tokens
    places = np.repeat(np.arange(len(num_tokens)), num_tokens)
    columns = np.arange(len(places)) - np.repeat(np.cumsum(num_tokens) - num_tokens, num_tokens)
    tokens = history.tokens[history.token_rows[places], columns].astype(np.int64)
    keys, which = np.unique((places << 32) | tokens, return_inverse=True)
    is_output = columns >= history.num_prompt_tokens[places]
    return TokenCounts(
        places=keys >> 32,
        tokens=keys & 0xFFFFFFFF,
        num_in_output=np.bincount(which, is_output, len(keys)).astype(np.int64),
    )


def penalize(logits: torch.Tensor, history: History) -> None:
    """Apply the penalties of a history.

    Shapes: logits[R, vocabulary] float32. Mutates: logits.
    """
    counts = count_tokens(history)
    places = counts.places
    at = _index(logits, history.rows[places], counts.tokens)
    taken = history.frequency[places] * counts.num_in_output
    taken += history.presence[places] * (counts.num_in_output > 0)
    repetition = _values(logits, history.repetition[places])
    values = logits[at]
    values = torch.where(values > 0, values / repetition, values * repetition)
    logits[at] = values - _values(logits, taken)


def add(logits: torch.Tensor, entries: Entries) -> None:
    """Add values at single places. Mutates: logits[R, vocabulary]."""
    logits[_index(logits, entries.rows, entries.tokens)] += _values(logits, entries.values)


def forbid(logits: torch.Tensor, masks: Masks) -> None:
    """Set what masks do not allow to minus infinity. Mutates: logits[R, vocabulary]."""
    never = logits.new_full((), -torch.inf)
    for row, allowed in zip(masks.rows.tolist(), masks.allowed, strict=True):
        scores = logits[row]
        # A tenth of the time of masked_fill on a CPU.
        torch.where(torch.as_tensor(allowed, device=logits.device), scores, never, out=scores)


def _index(
    logits: torch.Tensor, rows: IndexArray, tokens: IndexArray
) -> tuple[torch.Tensor, torch.Tensor]:
    device = logits.device
    return torch.as_tensor(rows, device=device), torch.as_tensor(tokens, device=device)


def _values(logits: torch.Tensor, values: FloatArray) -> torch.Tensor:
    return torch.as_tensor(values, dtype=logits.dtype, device=logits.device)
