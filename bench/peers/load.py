"""The requests of a round, the same for every contestant. Needs numpy only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

VOCAB_SIZE = 49_152
SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLoad:
    """Requests that are all there at the start, greedy, with no end but their length.

    prompts: token ids. output_tokens: each draws exactly so many.
    """

    prompts: list[list[int]]
    output_tokens: list[int]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"prompts": self.prompts, "output_tokens": self.output_tokens}

    def shortened(self, share: int) -> PeerLoad:
        """Return the same prompts with outputs of one share-th, at least a token each."""
        outputs = [max(1, length // share) for length in self.output_tokens]
        return PeerLoad(prompts=self.prompts, output_tokens=outputs)

    @property
    def num_output_tokens(self) -> int:
        """Tokens that count, in a round."""
        return sum(self.output_tokens)


def ragged_load(num_requests: int = 32) -> PeerLoad:
    """Draw prompts of 32 to 256 tokens and outputs of 16 to 256."""
    random = np.random.default_rng(SEED)
    prompt_tokens = random.integers(32, 257, num_requests)
    output_tokens = random.integers(16, 257, num_requests)
    return PeerLoad(
        prompts=[_tokens(random, int(length)) for length in prompt_tokens],
        output_tokens=output_tokens.tolist(),
    )


def single_load(num_output_tokens: int = 64) -> PeerLoad:
    """Return one request that is nearly all decoding."""
    prompt = _tokens(np.random.default_rng(SEED), 8)
    return PeerLoad(prompts=[prompt], output_tokens=[num_output_tokens])


def _tokens(random: np.random.Generator, length: int) -> list[int]:
    # The first ids are special tokens.
    return random.integers(64, VOCAB_SIZE, length).tolist()
