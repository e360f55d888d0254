"""Which tokens of a step give logits, and for whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paged.scheduler.batch import Admitted, Batch
from paged.types import BoolArray, IndexArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSpan:
    """Prompt tokens of one row that a step reports on.

    first: position of the first of them; the logits before it are of position first - 1.
    count: so many tokens from first on.
    num_top: alternatives asked for.
    """

    row: int
    first: int
    count: int
    num_top: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDraws:
    """Logits that a step needs: first those to draw from, then those of prompts.

    logit_rows: flat tokens whose logits are wanted; None means all, in order.
    rows[draws]: row of the sequence that each draw is for.
    token_rows[draws]: row with its known tokens; another where a group has yet to fork.
    num_tokens[draws]: known tokens.
    places[draws]: index of each draw in the logits; None where they are equal.
    num_logits: logits to draw from.
    prompts: spans whose logits follow, in this order.
    """

    logit_rows: IndexArray | None
    rows: IndexArray
    token_rows: IndexArray
    num_tokens: IndexArray
    places: IndexArray | None
    num_logits: int
    prompts: tuple[PromptSpan, ...]


class DrawPlanner:
    """Knows which rows belong together and which report on their prompts."""

    def __init__(self, max_rows: int) -> None:
        self._group_of: dict[int, IndexArray] = {}
        self._num_prompt_tokens: IndexArray = np.zeros(max_rows, np.int64)
        self._num_top: IndexArray = np.zeros(max_rows, np.int64)
        self._reports: BoolArray = np.zeros(max_rows, np.bool_)

    def admit(self, admitted: Admitted) -> None:
        """Learn who is on the rows of a request."""
        rows, sampling = admitted.rows, admitted.request.sampling
        num_top = None if sampling is None else sampling.prompt_logprobs
        self._group_of[int(rows[0])] = rows
        self._num_prompt_tokens[rows] = admitted.request.num_prompt_tokens
        self._num_top[rows] = num_top or 0
        self._reports[rows] = False
        self._reports[rows[0]] = num_top is not None

    def plan(self, batch: Batch) -> StepDraws:
        """Say which logits a batch needs. O(sequences) in numpy."""
        num_samples = batch.num_samples
        draws = num_samples.nonzero()[0]
        prompts = self._prompt_spans(batch) if self._reports[batch.rows].any() else []
        if len(draws) == len(batch.rows) == batch.num_tokens:
            logit_rows = None
        else:
            ends = np.cumsum(batch.num_scheduled)
            parts = [ends[draws] - 1, *(self._flat(batch, ends, i, span) for i, span in prompts)]
            logit_rows = np.concatenate(parts)
        rows, token_rows, places = batch.rows[draws], batch.rows[draws], None
        num_tokens = batch.seq_lens[draws]
        if batch.num_drawn != len(draws):
            counts = num_samples[draws]
            places = np.repeat(np.arange(len(draws)), counts)
            token_rows, num_tokens = token_rows[places], num_tokens[places]
            rows = np.concatenate(
                [
                    self._group_of[row][:count] if count > 1 else np.array([row])
                    for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
                ]
            )
        return StepDraws(
            logit_rows=logit_rows,
            rows=rows,
            token_rows=token_rows,
            num_tokens=num_tokens,
            places=places,
            num_logits=len(draws),
            prompts=tuple(span for _, span in prompts),
        )

    def _prompt_spans(self, batch: Batch) -> list[tuple[int, PromptSpan]]:
        spans: list[tuple[int, PromptSpan]] = []
        for i in self._reports[batch.rows].nonzero()[0].tolist():
            row, start = int(batch.rows[i]), int(batch.num_computed[i])
            end = min(start + int(batch.num_scheduled[i]), int(self._num_prompt_tokens[row]) - 1)
            if end > start:
                num_top = int(self._num_top[row])
                span = PromptSpan(row=row, first=start + 1, count=end - start, num_top=num_top)
                spans.append((i, span))
        return spans

    @staticmethod
    def _flat(batch: Batch, ends: IndexArray, i: int, span: PromptSpan) -> IndexArray:
        begin = int(ends[i] - batch.num_scheduled[i])
        return np.arange(begin, begin + span.count)
