"""Prompts and outputs of very different lengths, made of random tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.workload.streams import Stream, make_stream
from paged.scheduler.request import Request
from paged.types import IndexArray, TokenArray

PROMPT_TOKENS = (32, 256)
OUTPUT_TOKENS = (16, 256)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaggedLoad:
    """Requests that are all there at the start.

    prompts: token ids of each. output_tokens[requests]: each draws exactly so many.
    """

    prompts: tuple[TokenArray, ...]
    output_tokens: IndexArray

    @property
    def num_output_tokens(self) -> int:
        """Tokens that all requests draw together."""
        return int(self.output_tokens.sum())

    def requests(self) -> list[Request]:
        """Make the requests for an executor that needs no sampling parameters."""
        return [
            Request(request_id=str(index), prompt_tokens=prompt, max_new_tokens=num_tokens)
            for index, (prompt, num_tokens) in enumerate(
                zip(self.prompts, self.output_tokens.tolist(), strict=True)
            )
        ]


def draw_ragged(seed: int, num_requests: int, *, vocab_size: int) -> RaggedLoad:
    """Draw lengths uniform within PROMPT_TOKENS and OUTPUT_TOKENS; equal seeds, equal loads."""
    lengths = make_stream(seed, Stream.LENGTHS)
    # The requests of a shorter load are the first of a longer one.
    pairs = lengths.uniform(size=(num_requests, 2))
    prompt_tokens = _spread(pairs[:, 0], *PROMPT_TOKENS)
    tokens = make_stream(seed, Stream.SAMPLING)
    return RaggedLoad(
        prompts=tuple(
            tokens.integers(0, vocab_size, length, dtype=np.int32)
            for length in prompt_tokens.tolist()
        ),
        output_tokens=_spread(pairs[:, 1], *OUTPUT_TOKENS),
    )


def _spread(uniform: np.ndarray, least: int, most: int) -> IndexArray:
    return least + np.floor(uniform * (most - least + 1)).astype(np.int64)
