"""A workload: request lengths, and what else its source knows of the requests."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from experiments.workload.errors import WorkloadError, require
from experiments.workload.tokens import SequenceTokens
from paged.scheduler.request import Request, length_only_prompt
from paged.types import BoolArray, IndexArray

FloatArray = npt.NDArray[np.float64]
"""Times in seconds."""

__all__ = ["FloatArray", "Workload", "WorkloadError"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """Requests by column, in the order of their source.

    name: short, for tables and file names.
    source: one line on where the lengths come from.
    prompt_tokens[requests], output_tokens[requests]: lengths, at least 1.
    num_rows_read: rows of the source; always the kept plus the dropped ones.
    dropped: number of rows left out, by reason.
    arrival_s[requests]: seconds from the first arrival.
    prompt_block_ids: per request, an id for each block of hash_block_size prompt
        tokens; equal leading ids mean an equal prefix. The last block may be partial.
    output_block_ids: per request, the ids of the full blocks that follow the full
        blocks of the prompt, so the first one covers the prompt's partial tail too.
    Raises: WorkloadError if the columns or the row counts contradict each other.
    """

    name: str
    source: str
    prompt_tokens: IndexArray
    output_tokens: IndexArray
    num_rows_read: int
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    arrival_s: FloatArray | None = None
    prompt_block_ids: tuple[IndexArray, ...] | None = None
    output_block_ids: tuple[IndexArray, ...] | None = None
    hash_block_size: int | None = None

    def __post_init__(self) -> None:
        num_dropped = sum(self.dropped.values())
        require(
            self.num_rows_read == len(self) + num_dropped,
            f"{self.name}: rows do not reconcile: {self.num_rows_read} read,"
            f" {len(self)} kept, {num_dropped} dropped; check the file for damage",
        )
        require(
            len(self) > 0,
            f"{self.name}: no request is left: {self.accounting}; use another source or limit",
        )
        columns = (self.output_tokens, self.arrival_s, self.prompt_block_ids, self.output_block_ids)
        for column in columns:
            require(
                column is None or len(column) == len(self),
                f"{self.name}: every column must have {len(self)} entries",
            )
        shortest = min(self.prompt_tokens.min(), self.output_tokens.min())
        require(shortest >= 1, f"{self.name}: lengths must be at least 1 token, got {shortest}")
        require(
            (self.prompt_block_ids is None) == (self.hash_block_size is None),
            f"{self.name}: prompt_block_ids and hash_block_size come together",
        )

    def __len__(self) -> int:
        """Count the requests."""
        return len(self.prompt_tokens)

    @property
    def accounting(self) -> str:
        """Rows read, kept and dropped with the reasons, in one line."""
        reasons = "".join(
            f" + {count:,} dropped ({reason})" for reason, count in self.dropped.items()
        )
        return f"{self.num_rows_read:,} rows read = {len(self):,} kept{reasons}"

    def fit(self, max_model_len: int) -> Workload:
        """Drop the requests of more than max_model_len tokens; return a new workload.

        Raises: WorkloadError if none is left.
        """
        is_kept = self.prompt_tokens + self.output_tokens <= max_model_len
        return self._select(is_kept, f"prompt + output exceeds max_model_len {max_model_len}")

    def head(self, num_requests: int) -> Workload:
        """Return a new workload of the first num_requests requests, or of all if fewer.

        Raises: WorkloadError if num_requests is below 1.
        """
        require(num_requests >= 1, f"num_requests must be at least 1, got {num_requests}")
        is_kept = np.arange(len(self)) < num_requests
        return self._select(is_kept, f"after the first {num_requests} requests")

    def sequence_tokens(self) -> SequenceTokens:
        """Make token ids that repeat where the block ids say the text repeats.

        Complexity: O(block ids) to build; keep the result.
        Raises: WorkloadError if the source has no block ids.
        """
        if self.prompt_block_ids is None or self.hash_block_size is None:
            raise WorkloadError(
                f"{self.name} records no block ids, so no prefix is known to be shared;"
                " use a trace with hash_ids or leave prefix ids off"
            )
        return SequenceTokens(
            prompt_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
            prompt_block_ids=self.prompt_block_ids,
            output_block_ids=self.output_block_ids,
            block_size=self.hash_block_size,
        )

    def requests(
        self,
        max_model_len: int,
        *,
        arrivals: FloatArray | None = None,
        use_prefix_ids: bool = False,
    ) -> Iterator[Request]:
        """Iterate over the requests by arrival, and those of one instant in order.

        A request's id is its index in this workload. It may generate up to
        max_model_len tokens: a scheduler does not know the true output length, which
        final_new_tokens carries for executors and oracles.

        arrivals[requests]: seconds; None lets all arrive at 0.
        use_prefix_ids: give prompts token ids made of the block ids. Without them all
            prompts are alike: leave the prefix cache off, or everything hits.
        Raises: WorkloadError, at once, if a request exceeds max_model_len, arrivals
            has another length, or there are no block ids to use.
        """
        times = np.zeros(len(self)) if arrivals is None else arrivals
        require(
            len(times) == len(self),
            f"expected one arrival for each of {len(self)} requests, got {len(times)}",
        )
        longest = int((self.prompt_tokens + self.output_tokens).max())
        require(
            longest <= max_model_len,
            f"{self.name} has a request of {longest} tokens, max_model_len is"
            f" {max_model_len}; call fit({max_model_len}) first",
        )
        tokens = self.sequence_tokens() if use_prefix_ids else None
        order = np.argsort(times, kind="stable")
        return (
            self._request(int(index), float(times[index]), max_model_len, tokens) for index in order
        )

    def _request(
        self, index: int, arrival_s: float, max_model_len: int, tokens: SequenceTokens | None
    ) -> Request:
        num_prompt_tokens = int(self.prompt_tokens[index])
        prompt = tokens.prompt(index) if tokens else length_only_prompt(num_prompt_tokens)
        return Request(
            request_id=str(index),
            prompt_tokens=prompt,
            max_new_tokens=max_model_len - num_prompt_tokens,
            arrival_s=arrival_s,
            final_new_tokens=int(self.output_tokens[index]),
        )

    def _select(self, is_kept: BoolArray, reason: str) -> Workload:
        """Keep some requests and account for the others under reason."""
        num_dropped = len(self) - int(is_kept.sum())
        if num_dropped == 0:
            return self
        kept = np.flatnonzero(is_kept)
        return dataclasses.replace(
            self,
            prompt_tokens=self.prompt_tokens[kept],
            output_tokens=self.output_tokens[kept],
            dropped={**self.dropped, reason: self.dropped.get(reason, 0) + num_dropped},
            arrival_s=None if self.arrival_s is None else self.arrival_s[kept],
            prompt_block_ids=_pick(self.prompt_block_ids, kept),
            output_block_ids=_pick(self.output_block_ids, kept),
        )


def _pick(column: tuple[IndexArray, ...] | None, kept: IndexArray) -> tuple[IndexArray, ...] | None:
    return None if column is None else tuple(column[index] for index in kept)
