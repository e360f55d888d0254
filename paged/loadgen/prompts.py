"""Prompts of given lengths: words that most vocabularies have as one token, or token ids."""

from __future__ import annotations

import numpy as np

from experiments.workload.workload import Workload
from paged.types import IndexArray

_WORDS = (
    *("the", "of", "and", "to", "in", "is", "that", "for", "it", "was", "on", "are", "as"),
    *("with", "his", "they", "at", "be", "this", "have", "from", "or", "one", "had", "by"),
    *("word", "but", "not", "what", "all", "were", "we", "when", "your", "can", "said"),
    *("there", "use", "an", "each", "which", "she", "do", "how", "their"),
)
# Neighbours must not give neighbours. Source: Knuth, TAOCP 3, 6.4: 2**32 over the golden ratio.
_MIX = 2_654_435_769


class Prompts:
    """Makes the prompt of each request of a workload; equal seeds make equal prompts.

    Where the workload knows blocks of text by id, prompts share what the ids say they share.
    vocab_size: make token ids below it, so many as the workload says; None makes texts of so
        many words, which are about as many tokens.
    """

    def __init__(self, workload: Workload, *, seed: int, vocab_size: int | None = None) -> None:
        self._lengths = workload.prompt_tokens
        has_blocks = workload.prompt_block_ids is not None
        self._tokens = workload.sequence_tokens() if has_blocks else None
        self._seed = seed
        self._vocab_size = vocab_size

    def prompt(self, index: int) -> str | list[int]:
        """Return the prompt of one request."""
        if self._vocab_size is not None:
            return (self._numbers(index) % self._vocab_size).tolist()
        places: list[int] = (self._numbers(index) % len(_WORDS)).tolist()
        return " ".join(_WORDS[place] for place in places)

    def _numbers(self, index: int) -> IndexArray:
        if self._tokens is None:
            random = np.random.default_rng([self._seed, index])
            return random.integers(2**31, size=int(self._lengths[index]))
        mixed = (self._tokens.prompt(index).astype(np.uint64) + self._seed + 1) * _MIX
        return ((mixed & 0xFFFFFFFF) >> 7).astype(np.int64)
