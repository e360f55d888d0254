"""A request while the scheduler is responsible for it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from paged.allocator.base import Allocator, Demand
from paged.scheduler.request import FinishReason, Request
from paged.types import TokenArray

# As often a request may be preempted before it must wait for more room than it needs.
# Backing off at once keeps the pool emptier than vLLM's, measured on the same requests.
_FREE_PREEMPTIONS = 3


@dataclass(slots=True, eq=False)
class RequestState:
    """Mutable state of one unfinished request.

    key: order of service, (priority, arrival, number of arrival); unique.
    sequence_indices: the request's unfinished sequences.
    rows: their rows, in the same order; empty while the request holds nothing.
    saved: their known tokens from a preemption by recompute until they run again.
    is_forked: each sequence is on a row of its own, with all its known tokens.
    ending: sequences to end as soon as they are on rows of their own, and why.
    error: what the executor raised in the step that ended the request.
    """

    request: Request
    key: tuple[int, float, int]
    sequence_indices: list[int]
    rows: list[int] = field(default_factory=list[int])
    saved: list[TokenArray] = field(default_factory=list[TokenArray])
    num_preemptions: int = 0
    is_forked: bool = False
    demand: Demand | None = None
    ending: dict[int, FinishReason] = field(default_factory=dict[int, FinishReason])
    error: BaseException | None = None

    @property
    def is_group(self) -> bool:
        """Say whether several sequences are still to share or re-share the prompt."""
        return len(self.sequence_indices) > 1

    @property
    def is_search(self) -> bool:
        """Say whether its sequences are the beams of one search and take steps together."""
        sampling = self.request.sampling
        return sampling is not None and sampling.beam is not None

    @property
    def active_rows(self) -> list[int]:
        """Rows that take part in steps: before a group forks only the first."""
        return self.rows if self.is_forked else self.rows[:1]

    def known_tokens(self) -> TokenArray:
        """Tokens the first row must have computed before the request can go on.

        A group restarts from the prompt its sequences share; each then computes its
        own tail again. Beams share more: all that came before they parted.
        """
        if self.saved and not self.is_group:
            return self.saved[0]
        if self.saved and self.is_search:
            return _common_prefix(self.saved)
        return np.asarray(self.request.prompt_tokens, np.int32)

    def headroom_blocks(self, num_blocks: int) -> int:
        """Blocks beyond the watermark that must be free before it runs again.

        Nothing for the first few preemptions, then 1, 3, 7, ...: a request is preempted
        about log2(num_blocks) times more at most before it waits for a pool of its own.
        """
        exponent = min(max(0, self.num_preemptions - _FREE_PREEMPTIONS), 62)
        return min((1 << exponent) - 1, num_blocks)

    def make_demand(self, allocator: Allocator, *, max_model_len: int) -> Demand:
        """Say what the request asks of an allocator now."""
        request = self.request
        tokens = self.known_tokens()
        final, sampling = request.final_new_tokens, request.sampling
        reports_prompt = sampling is not None and sampling.prompt_logprobs is not None
        limit = request.num_prompt_tokens + request.max_new_tokens
        return Demand(
            num_tokens=len(tokens),
            max_tokens=min(limit, max_model_len),
            final_tokens=None if final is None else request.num_prompt_tokens + final,
            num_sequences=len(self.sequence_indices),
            # What is cached is not computed, so it has no log-probabilities to report.
            tokens=None if reports_prompt else tokens,
            prefix_keys=allocator.prefix_keys(tokens),
            headroom_blocks=self.headroom_blocks(allocator.num_blocks),
        )


def _common_prefix(sequences: list[TokenArray]) -> TokenArray:
    """Leading tokens that sequences of one length share; never all of them."""
    tokens = np.stack(sequences)[:, :-1]
    is_common = (tokens == tokens[0]).all(axis=0)
    return tokens[0, : int(np.logical_and.accumulate(is_common).sum())]
