"""Token ids for traces that record block ids instead of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.workload.errors import require
from paged.types import IndexArray, TokenArray

_NUM_TOKEN_IDS = 2**31  # token ids are int32


class SequenceTokens:
    """Tokens of each request: equal where block ids are equal, different elsewhere.

    With D distinct block ids of B tokens the ids are laid out as
    [0, D*B) offset within the block of that rank, then one range of its own for the
    tokens of each request that no block id covers. They exceed any vocabulary: they are
    for allocators and schedulers, not for a model.
    """

    def __init__(
        self,
        *,
        prompt_tokens: IndexArray,
        output_tokens: IndexArray,
        prompt_block_ids: Sequence[IndexArray],
        output_block_ids: Sequence[IndexArray] | None,
        block_size: int,
    ) -> None:
        self._num_prompt = prompt_tokens
        self._num_total = prompt_tokens + output_tokens
        self._block_size = block_size
        blocks = list(prompt_block_ids)
        if output_block_ids is not None:
            pairs = zip(prompt_block_ids, output_block_ids, strict=True)
            blocks = [np.concatenate(pair) for pair in pairs]
        distinct = np.unique(np.concatenate(blocks))
        self._ranks = [np.searchsorted(distinct, ids) for ids in blocks]
        covered = np.array([len(ids) for ids in blocks]) * block_size
        last_covered = prompt_tokens if output_block_ids is None else self._num_total
        self._num_known = np.minimum(covered, last_covered)
        num_unknown = self._num_total - self._num_known
        ends = len(distinct) * block_size + np.cumsum(num_unknown)
        require(
            int(ends[-1]) <= _NUM_TOKEN_IDS,
            f"the workload has {int(ends[-1])} distinct tokens, int32 token ids allow"
            f" {_NUM_TOKEN_IDS}; use fewer requests (head)",
        )
        self._tail_start = ends - num_unknown

    def prompt(self, index: int) -> TokenArray:
        """Prompt of a request."""
        return self._sequence(index)[: self._num_prompt[index]]

    def output(self, index: int) -> TokenArray:
        """Tokens the request generated, for an executor that replays them."""
        return self._sequence(index)[self._num_prompt[index] :]

    def _sequence(self, index: int) -> TokenArray:
        """Prompt then output: [0, num_known) from block ids, the rest unique."""
        size = self._block_size
        known = (self._ranks[index][:, None] * size + np.arange(size)).reshape(-1)
        num_known = int(self._num_known[index])
        tail = self._tail_start[index] + np.arange(self._num_total[index] - num_known)
        return np.concatenate([known[:num_known], tail]).astype(np.int32)
